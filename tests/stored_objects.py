"""A server in memory with objects that a test gives it: reads, creations, merge patches, deletions; remembers what was written.

Every patch is taken as a merge patch, and nothing is judged but names and preconditions: what a real API server refuses is a
matter of tests with one.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime
from email.utils import format_datetime
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.selectors import label_requirements
from shunter.kube.client import Client
from shunter.kube.errors import from_answer
from shunter.kube.merge_patch import merge_patch
from shunter.kube.transport import Response


class Write(NamedTuple):
    """A request that was to change something. `path` begins with the plural of its kind."""

    method: str
    path: str
    is_dry_run: bool
    body: Json


class StoredObjects:
    """The server. `refuses` says which requests are answered with an error: a code and a message, or None."""

    def __init__(self, *objects: tuple[Resource, Json], namespace: str = "team") -> None:
        self._namespace = namespace
        self._objects: dict[str, Json] = {}
        self.writes: list[Write] = []
        self.refuses: Callable[[Write], tuple[int, str] | None] = lambda write: None
        self.clock: datetime | None = None
        """The time in the header Date of all answers; without one, they have none."""
        for resource, obj in objects:
            self.put(resource, obj)

    @property
    def client(self) -> Client:
        return Client(self, namespace=self._namespace)

    @property
    def made(self) -> list[Write]:
        """What was written, and not only tried in a dry run."""
        return [write for write in self.writes if not write.is_dry_run]

    def put(self, resource: Resource, obj: Json) -> None:
        metadata = obj["metadata"]
        self._objects[resource.path(metadata.get("namespace", ""), metadata["name"])] = _stored(obj)

    def get(self, resource: Resource, name: str) -> Json:
        found = self._objects.get(resource.path(self._namespace, name))
        assert found is not None, f"{resource.kind} {name} is not there"
        return found

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        answer = self._answered(method, path, params, body)
        date = {"date": format_datetime(self.clock, usegmt=True)} if self.clock is not None else {}
        return answer._replace(headers={**answer.headers, **date})

    def _answered(self, method: str, path: str, params: Mapping[str, str], body: bytes) -> Response:
        if method == "GET":
            return self._read(path, params)
        sent: Json = msgspec.json.decode(body) if body else {}
        write = Write(method, path.partition(f"namespaces/{self._namespace}/")[2], "dryRun" in params, sent)
        self.writes.append(write)
        if (refusal := self.refuses(write)) is not None:
            return _status(*refusal)
        if method == "POST":
            return self._create(f"{path}/{sent['metadata']['name']}", sent, is_dry_run=write.is_dry_run)
        if path not in self._objects:
            return _status(404, f"{path} not found")
        if method == "DELETE":
            return _answer(200, self._objects.pop(path))
        return self._patch(path, sent)

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        chunks: tuple[bytes, ...] = ()
        for chunk in chunks:
            yield chunk
        raise from_answer(method, path, 405, {}, b"")

    async def close(self) -> None:
        return

    def _read(self, path: str, params: Mapping[str, str]) -> Response:
        if (found := self._objects.get(path)) is not None:
            return _answer(200, found)
        if _names_an_object(path):
            return _status(404, f"{path} not found")
        requirements = label_requirements(params.get("labelSelector", ""))
        listed = [obj for at, obj in sorted(self._objects.items()) if path in _collections(at.rpartition("/")[0])]
        labels = [obj["metadata"].get("labels") or {} for obj in listed]
        items = [obj for obj, own in zip(listed, labels, strict=True) if all(one.matches(own) for one in requirements)]
        return _answer(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    def _create(self, path: str, obj: Json, *, is_dry_run: bool) -> Response:
        if path in self._objects:
            return _status(409, f"{path} already exists", reason="AlreadyExists")
        stored = _stored(obj)
        if not is_dry_run:
            self._objects[path] = stored
        return _answer(201, stored)

    def _patch(self, path: str, patch: Json) -> Response:
        present = self._objects[path]
        for field in ("uid", "resourceVersion"):
            if (patch.get("metadata") or {}).get(field, present["metadata"][field]) != present["metadata"][field]:
                return _status(409, f"{path} has changed", reason="Conflict")
        changed: Json = merge_patch(present, patch)
        metadata = {**changed["metadata"], "resourceVersion": str(int(present["metadata"]["resourceVersion"]) + 1)}
        if changed.get("spec") != present.get("spec"):
            metadata["generation"] = present["metadata"]["generation"] + 1
        self._objects[path] = {**changed, "metadata": metadata}
        return _answer(200, self._objects[path])


def _stored(obj: Json) -> Json:
    given = {"uid": str(uuid.uuid4()), "resourceVersion": "1", "generation": 1}
    return {**copy.deepcopy(obj), "metadata": {**given, **copy.deepcopy(obj["metadata"])}}


def _status(code: int, message: str, reason: str = "") -> Response:
    return _answer(code, {"kind": "Status", "code": code, "reason": reason, "message": message})


def _names_an_object(path: str) -> bool:
    _, root, *rest = path.split("/")
    group_and_version = 2 if root == "apis" else 1
    return len(rest) - group_and_version > (3 if "namespaces" in rest else 1)


def _collections(path: str) -> tuple[str, str]:
    """The path of a namespace's collection, and that of the collection of all namespaces."""
    head, _, tail = path.partition("/namespaces/")
    return path, f"{head}/{tail.partition('/')[2]}"


def _answer(code: int, body: Json) -> Response:
    return Response(code, {}, msgspec.json.encode(body))
