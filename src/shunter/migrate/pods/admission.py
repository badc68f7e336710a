"""What an API server makes of an object on its way in, and what it refuses: the embedded one's own kinds, asked without a server.

Steps and order are those of `cluster.apiserver.writes`. Webhooks of the operator are not among them: those of TrainJobs look at
runtimes: `proof` checks them where it has both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, as_json
from shunter.api.resources import PRIORITY_CLASSES, Resource
from shunter.cluster.apiserver.custom_resources import crd
from shunter.cluster.apiserver.kinds import Kind, MalformedError, RejectedError
from shunter.cluster.apiserver.object_meta import creation_errors
from shunter.cluster.apiserver.packaged_schemas import packaged_crd
from shunter.cluster.apiserver.schema import StructuralSchema
from shunter.errors import InputError
from shunter.migrate.paths import Path

GENERATED = "xxxxx"
"""Stands for the characters by which the API server completes a generateName."""
NAMESPACE = "default"
"""The namespace of objects without one."""


class RefusedError(InputError):
    """An API server would not take the object."""


class PriorityClasses:
    """What admission may look at: PriorityClasses. One that is unknown is taken as present, and has no effect."""

    def __init__(self, classes: Iterable[Json] = ()) -> None:
        self._known = {one["metadata"]["name"]: one for one in classes}

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        """The class, known or not; None for any other resource."""
        if resource != PRIORITY_CLASSES:
            return None
        return self._known.get(name) or {"metadata": {"name": name}}

    def all(self, resource: Resource, namespace: str = "") -> Iterable[Json]:
        """Only those that are known; none of any other resource."""
        return self._known.values() if resource == PRIORITY_CLASSES else ()


ANY_PRIORITY_CLASS = PriorityClasses()


def admitted(obj: Json, classes: PriorityClasses = ANY_PRIORITY_CLASS) -> Json:
    """The object as it is stored: decoded, pruned, with all defaults, and with what admission and the kind's strategy add. Its
    uid follows from its kind and name (`uid_of`), so that what is made of it is the same every time. Raises RefusedError for what
    cannot be decoded or is forbidden; whether its fields are valid is for the other functions here to say."""
    kind, stored = _kind_of(obj), as_json(obj)
    stored["metadata"] = stored.get("metadata") or {}
    try:
        kind.schema().prune(stored)
        _fill_defaults(kind, stored)
        metadata = stored["metadata"]
        if kind.resource.namespaced:
            metadata.setdefault("namespace", NAMESPACE)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + GENERATED
        kind.admit(stored, None, classes)
        _fill_defaults(kind, stored)
    except (MalformedError, RejectedError) as error:
        raise RefusedError(f"{title(obj)} is rejected: {error}") from error
    metadata["uid"] = uid_of(stored)
    kind.prepare(stored, None)
    return stored


@lru_cache(maxsize=256)
def admitted_once(said: bytes) -> Json:
    """`admitted` of an object in JSON. Callers share the result, so they must not change it: each stage of a proof calls this,
    and many jobs have one runtime. Raises RefusedError."""
    return admitted(msgspec.json.decode(said))


def uid_of(obj: Json) -> str:
    """The uid that we give to the object of that kind, namespace and name."""
    metadata = obj["metadata"]
    said = f"{obj['kind']} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
    digest = hashlib.sha256(said.encode()).hexdigest()  # a fraction of what uuid.uuid5 takes, which is asked for each pod
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def unknown_fields(obj: Json) -> list[str]:
    """The fields that the kind's schema does not know; an API server drops them. Raises RefusedError for what it cannot read."""
    read = as_json(obj)
    try:
        return _kind_of(obj).schema().prune(read)
    except MalformedError as error:
        raise RefusedError(f"{title(obj)} is rejected: {error}") from error


def repeated_entries(obj: Json) -> list[FieldError]:
    """What the schema of a custom kind says against entries of lists that have the key of another one (ports, variables, mounts,
    ...); of built-in kinds, and of those of which we have no schema, nothing."""
    found = _custom_kind(str(obj.get("apiVersion")), str(obj.get("kind"))) if _may_repeat(obj) else None
    schema = found.schema() if found is not None else None
    if not isinstance(schema, StructuralSchema):
        return []
    stored = as_json(obj)
    schema.default(stored)
    return schema.list_errors(stored)


def _may_repeat(value: Any) -> bool:
    """Whether a list holds several entries that are not all different texts: most jobs have none, and need no schema for it."""
    if isinstance(value, list) and len(value) > 1:
        return len({entry for entry in value if isinstance(entry, str)}) < len(value)
    return any(map(_may_repeat, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def field_names(api_version: str, kind: str, path: Path) -> tuple[str, ...]:
    """The fields that a custom kind's schema has at a path; none for a kind of which we have no schema."""
    found = _custom_kind(api_version, kind)
    schema = found.schema() if found is not None else None
    return schema.field_names(path) if isinstance(schema, StructuralSchema) else ()


def schema_errors(stored: Json) -> list[FieldError]:
    """What the kind's schema says against an admitted object: types, limits, enums, list keys; of built-in kinds nothing."""
    schema = _kind_of(stored).schema()
    return schema.structure_errors(stored, None) if isinstance(schema, StructuralSchema) else []


def cel_errors(stored: Json) -> list[FieldError]:
    """What `schema_errors` says against an admitted object, and the CEL rules of a custom kind where its structure is right."""
    return _kind_of(stored).schema().validate(stored, None)


def rule_errors(stored: Json, classes: PriorityClasses = ANY_PRIORITY_CLASS) -> list[str]:
    """What metadata's rules, the rules of a built-in kind and JobSet's webhook say against an admitted object."""
    kind = _kind_of(stored)
    errors = creation_errors(stored["metadata"], namespaced=kind.resource.namespaced, name_faults=kind.name_faults)
    errors += kind.validate(stored, None)
    try:
        kind.review(stored, None, classes)
    except RejectedError as error:
        return [*map(str, errors), str(error)]
    return [*map(str, errors)]


def title(obj: Json) -> str:
    """`JobSet bert`."""
    metadata = obj.get("metadata") or {}
    return f"{obj.get('kind')} {metadata.get('name') or metadata.get('generateName', '')}"


def _fill_defaults(kind: Kind, stored: Json) -> None:
    kind.schema().default(stored)
    kind.default(stored)


def _kind_of(obj: Json) -> Kind:
    api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
    found = _custom_kind(api_version, kind) or _builtin_kinds().get((api_version, kind))
    assert found is not None, f"{title(obj)} is of a kind without admission rules"
    return found


@cache
def _custom_kind(api_version: str, kind: str) -> Kind | None:
    """Made when it is asked for: a conversion looks at one or two of them."""
    packaged = packaged_crd(api_version.partition("/")[0], kind)
    made = crd.kinds(packaged) if packaged else []
    return next((one for one in made if one.resource.api_version == api_version), None)


@cache
def _builtin_kinds() -> dict[tuple[str, str], Kind]:
    from shunter.cluster.apiserver import builtin  # takes long to import, and a conversion asks for none of them

    return {(kind.resource.api_version, kind.resource.kind): kind for kind in builtin.kinds()}
