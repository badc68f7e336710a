"""Runs a write through a kind's functions in the order of the request path, without a server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from shunter.api.field_errors import aggregate
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver import builtin, object_meta
from shunter.cluster.apiserver.builtin.scheduling import SYSTEM_CLASSES
from shunter.cluster.apiserver.kinds import Kind, MalformedError, RejectedError
from shunter.cluster.apiserver.status import StatusError

NOW = "2026-11-21T10:00:00Z"
UID = "11111111-2222-3333-4444-555555555555"


class Answer(NamedTuple):
    """What the API server would answer; `object` only when it accepts."""

    code: int
    message: str = ""
    object: Json | None = None
    unknown: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Stored:
    """The objects admission may look at."""

    def __init__(self, objects: Iterable[Json] = ()) -> None:
        self._objects = [*SYSTEM_CLASSES, *objects]

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return next((obj for obj in self.all(resource) if obj["metadata"]["name"] == name), None)

    def all(self, resource: Resource, namespace: str = "") -> Iterable[Json]:
        return [obj for obj in self._objects if (obj["apiVersion"], obj["kind"]) == (resource.api_version, resource.kind)]


Write = Callable[..., Answer]


@pytest.fixture(scope="session")
def kinds() -> dict[tuple[str, str], Kind]:
    """Built-in kinds by apiVersion and kind."""
    return {(kind.resource.api_version, kind.resource.kind): kind for kind in builtin.kinds()}


@pytest.fixture(scope="session")
def write(kinds: dict[tuple[str, str], Kind]) -> Write:
    """`write(manifest, old=None, status=False, stored=())`: creates, or updates `old`."""

    def run(manifest: Json, old: Json | None = None, *, status: bool = False, stored: Iterable[Json] = ()) -> Answer:
        kind = kinds[manifest["apiVersion"], manifest["kind"]]
        return write_to(kind, manifest, old, status=status, stored=stored)

    return run


@pytest.fixture(scope="session")
def write_kind() -> Write:
    """`write_kind(kind, manifest, old, status=False, stored=())`, for kinds that are not built in too."""

    def run(kind: Kind, manifest: Json, old: Json | None, *, status: bool = False, stored: Iterable[Json] = ()) -> Answer:
        return write_to(kind, manifest, old, status=status, stored=stored)

    return run


def write_to(kind: Kind, manifest: Json, old: Json | None, *, status: bool, stored: Iterable[Json]) -> Answer:
    obj, resource, objects = copy.deepcopy(manifest), kind.resource, Stored(stored)
    obj.setdefault("metadata", {})
    try:
        unknown = kind.schema().prune(obj)
    except MalformedError as error:
        return Answer(400, f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}')
    kind.schema().default(obj)
    kind.default(obj)
    metadata = obj["metadata"]
    if resource.namespaced:
        metadata.setdefault("namespace", "default")
    if old is None:
        metadata["uid"], metadata["creationTimestamp"] = UID, NOW
        if kind.has_status:
            obj.pop("status", None)
    else:
        metadata["uid"] = old["metadata"]["uid"]
        if status:
            obj["spec"] = copy.deepcopy(old["spec"])
        elif kind.has_status:
            obj.pop("status", None)
            obj |= {"status": copy.deepcopy(old["status"])} if "status" in old else {}
    try:
        if not status:
            kind.admit(obj, old, objects)
        (kind.prepare_status if status else kind.prepare)(obj, old)
        errors = (
            object_meta.creation_errors(metadata, namespaced=resource.namespaced, name_faults=kind.name_faults)
            if old is None
            else object_meta.update_errors(metadata, old["metadata"], namespaced=resource.namespaced)
        )
        errors += (kind.validate_status if status else kind.validate)(obj, old)
        errors += kind.schema().validate(obj, old)
        if errors:
            group = f".{resource.group}" if resource.group else ""
            name = metadata.get("name", "")
            return Answer(422, f'{resource.kind}{group} "{name}" is invalid: {aggregate(errors)}')
        kind.review(obj, old, objects)
        kind.allocate(obj, old, objects)
    except (RejectedError, StatusError) as error:
        return Answer(error.code, str(error))
    warnings = kind.warnings(obj, old, objects)
    return Answer(201 if old is None else 200, "", obj, tuple(unknown), tuple(warnings))
