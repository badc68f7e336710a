"""Everything that happened to the objects of a cluster, as an undisturbed observer saw it: what invariants are checked on."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, TypeVar

from player.shape import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBS,
    JOBSETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    TRAIN_JOBS,
    Resource,
)
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.cache.watch_events import Bookmark, Change
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError
from shunter.kube.kubeconfig import Connection

T = TypeVar("T")

RESOURCES = (
    PYTORCH_JOBS, MPI_JOBS, TRAIN_JOBS, PODS, SERVICES, CONFIG_MAPS, SECRETS, ROLES, ROLE_BINDINGS, JOBSETS, JOBS, CORE_EVENTS,
)  # fmt: skip
DEADLINE = 90.0
RETRY = 0.1


class Seen(NamedTuple):
    """One change of one object, which is shown as it was after it."""

    type: str
    object: Json


class Collection(NamedTuple):
    """Where objects are kept by name."""

    kind: str
    namespace: str


class History:
    """Use as an async context manager; watches these kinds in all namespaces, also across restarts of the API server."""

    def __init__(self, connection: Connection, resources: Sequence[Resource] = RESOURCES) -> None:
        self.client: Client = connect(connection, component="test")
        self._resources = resources
        self._objects: defaultdict[Collection, dict[str, Json]] = defaultdict(dict)
        self._seen: list[Seen] = []
        self._changed = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> History:
        for resource in self._resources:
            started = asyncio.Event()
            self._watches.append(asyncio.create_task(self._watch(resource, started)))
            await started.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self.client.close()

    @property
    def changes(self) -> Sequence[Seen]:
        """All changes of all objects, oldest first."""
        return self._seen

    def of(self, resource: Resource, namespace: str) -> Iterator[Seen]:
        """All changes of one kind's objects, oldest first."""
        for seen in self._seen:
            if seen.object["kind"] == resource.kind and seen.object["metadata"]["namespace"] == namespace:
                yield seen

    def present(self, resource: Resource, namespace: str) -> list[Json]:
        """The objects that are there now, by name."""
        objects = self._objects[Collection(resource.kind, namespace)]
        return [objects[name] for name in sorted(objects)]

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return self._objects[Collection(resource.kind, namespace)].get(name)

    async def until(
        self, condition: Callable[[], T], *, seconds: float = DEADLINE, otherwise: Callable[[], str] = lambda: ""
    ) -> T:
        """The first true result of `condition`, asked after every change; fails with what `otherwise` says."""
        try:
            async with asyncio.timeout(seconds):
                while not (result := condition()):
                    self._changed.clear()
                    await self._changed.wait()
                return result
        except TimeoutError:
            raise AssertionError(f"not so within {seconds:g} s: {otherwise() or condition}") from None

    async def beyond(self, changes: int) -> None:
        """Returns when there are more changes than this."""
        while len(self._seen) <= changes:
            self._changed.clear()
            await self._changed.wait()

    async def quiet(self, namespace: str, *, seconds: float) -> None:
        """Returns when nothing has happened in the namespace for so long."""
        while True:
            before = self._last(namespace)
            await asyncio.sleep(seconds)
            if self._last(namespace) is before:
                return

    def _last(self, namespace: str) -> Seen | None:
        return next((seen for seen in reversed(self._seen) if seen.object["metadata"]["namespace"] == namespace), None)

    async def _watch(self, resource: Resource, started: asyncio.Event) -> None:
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list(resource)
                    started.set()
                watch: Any = self.client.watch(resource, resource_version=version)
                async with aclosing(watch) as events:
                    async for event in events:
                        if isinstance(event, Bookmark):
                            version = event.resource_version
                        else:
                            assert isinstance(event, Change), event
                            version = event.object["metadata"]["resourceVersion"]
                            self._note(event.type, event.object)
            except ApiError as error:
                if error.code == 410:
                    version = ""
                await asyncio.sleep(RETRY)

    async def _list(self, resource: Resource) -> str:
        page = await self.client.list(resource)
        found = [{"kind": resource.kind, "apiVersion": resource.api_version, **obj} for obj in page.items]
        uids = {obj["metadata"]["uid"] for obj in found}
        before = [obj for place, objects in self._objects.items() if place.kind == resource.kind for obj in objects.values()]
        for obj in before:
            if obj["metadata"]["uid"] not in uids:
                self._note("DELETED", obj)
        for obj in found:
            self._note("ADDED", obj)
        return page.resource_version

    def _note(self, type: str, obj: Json) -> None:
        metadata = obj["metadata"]
        objects = self._objects[Collection(obj["kind"], metadata["namespace"])]
        if type == "DELETED":
            objects.pop(metadata["name"], None)
        else:
            objects[metadata["name"]] = obj
        self._seen.append(Seen(type, obj))
        self._changed.set()


def true_conditions(obj: Json | None) -> Sequence[str]:
    """The types of the conditions that hold."""
    conditions = (obj or {}).get("status", {}).get("conditions") or []
    return [condition["type"] for condition in conditions if condition["status"] == "True"]
