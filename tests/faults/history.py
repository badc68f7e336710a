"""Everything that happened to the objects of a cluster, as an undisturbed observer saw it: what invariants are checked on."""

from __future__ import annotations

import asyncio
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
    PYTORCH_JOBS,
    SERVICES,
    TRAIN_JOBS,
    Resource,
)
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError
from shunter.kube.kubeconfig import Connection
from shunter.kube.watch_events import Bookmark, Change

T = TypeVar("T")

RESOURCES = (PYTORCH_JOBS, TRAIN_JOBS, PODS, SERVICES, CONFIG_MAPS, JOBSETS, JOBS, CORE_EVENTS)
DEADLINE = 30.0
RETRY = 0.1


class Seen(NamedTuple):
    """One change of one object, which is shown as it was after it."""

    type: str
    object: Json


class Place(NamedTuple):
    kind: str
    namespace: str
    name: str


class History:
    """Use as an async context manager; watches all namespaces, also across restarts of the API server."""

    def __init__(self, connection: Connection) -> None:
        self.client: Client = connect(connection, component="test")
        self.objects: dict[Place, Json] = {}
        self._seen: list[Seen] = []
        self._changed = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> History:
        for resource in RESOURCES:
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
        places = [place for place in self.objects if (place.kind, place.namespace) == (resource.kind, namespace)]
        return [self.objects[place] for place in sorted(places)]

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return self.objects.get(Place(resource.kind, namespace, name))

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
        places = {_place(obj) for obj in found}
        for place in [place for place in self.objects if place.kind == resource.kind and place not in places]:
            self._note("DELETED", self.objects[place])
        for obj in found:
            self._note("ADDED", obj)
        return page.resource_version

    def _note(self, type: str, obj: Json) -> None:
        place = _place(obj)
        if type == "DELETED":
            self.objects.pop(place, None)
        else:
            self.objects[place] = obj
        self._seen.append(Seen(type, obj))
        self._changed.set()


def _place(obj: Json) -> Place:
    return Place(obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"])


def true_conditions(obj: Json | None) -> Sequence[str]:
    """The types of the conditions that hold."""
    conditions = (obj or {}).get("status", {}).get("conditions") or []
    return [condition["type"] for condition in conditions if condition["status"] == "True"]
