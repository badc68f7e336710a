"""A store that follows one kind, and tells its handlers about every difference: all controllers read through informers.

Handlers are called in the event loop, must not wait, and get (old, new), where None means that the object was not, or is no more,
there. What a list finds to be gone is passed on like a deletion that was watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from logging import getLogger
from typing import Generic, TypeVar

from shunter.api.resources import Resource
from shunter.kube.cache.reflector import CollectionProblem, Reflector, Timing
from shunter.kube.cache.store import Difference, Index, Object, Store
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key

log = getLogger(__name__)

T = TypeVar("T", bound=Object)

Handler = Callable[[T | None, T | None], None]


class Informer(Generic[T]):
    """One kind, in all namespaces or in several; `store` may be read before `synced`, but is incomplete until then."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        view: type[T],
        *,
        namespaces: Collection[str] = (),
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, Index[T]] = {},
        timing: Timing = Timing(),  # noqa: B008 -- frozen
        is_optional: bool = False,
        ended: Callable[[str], None] = lambda reason: None,
    ) -> None:
        scopes = tuple(namespaces) if namespaces and resource.namespaced else ("",)
        self.resource = resource
        self.view = view
        self.store: Store[T] = Store(indexes, scopes=scopes)
        self._handlers: list[Handler[T]] = []
        self._feeds = [_Feed(self, scope) for scope in scopes]
        self._synced = asyncio.Event()
        self._known = asyncio.Event()
        """Set when the store holds everything, or the server is known not to serve the kind."""
        self._presence_handlers: list[Callable[[], None]] = []
        self._refreshing = asyncio.Event()
        self.is_synced = False
        """Whether the store holds everything that was there at some moment since the start."""
        self._reflectors = [
            Reflector(
                client,
                resource,
                view,
                feed,
                namespace=feed.scope,
                label_selector=label_selector,
                field_selector=field_selector,
                timing=timing,
                is_optional=is_optional,
                ended=ended,
            )
            for feed in self._feeds
        ]

    @property
    def problem(self) -> CollectionProblem | None:
        """Why the collection cannot be read right now; None when it can."""
        return next((feed.problem for feed in self._feeds if feed.problem), None)

    @property
    def is_kind_missing(self) -> bool:
        """Whether the server does not serve the kind, as far as is known."""
        return self.problem is not None and self.problem.is_missing_kind

    async def wait_synced(self) -> None:
        """Returns when the store holds everything that was there at some moment since the start, or the last `refresh`."""
        await self._synced.wait()

    async def wait_resolved(self) -> None:
        """Waits as `wait_synced` does, but also returns if the server does not serve the kind."""
        await self._known.wait()

    def refresh(self) -> None:
        """Lists everything again: a watch may lag behind for as long as its connection may be silent."""
        self._synced.clear()
        self._known.clear()
        self._refreshing.set()

    def end_pause(self) -> None:
        """Has what waits for the end of a pause (`Timing.pause`) read now."""
        for reflector in self._reflectors:
            reflector.end_pause()

    def add_handler(self, handler: Handler[T]) -> None:
        """Calls `handler` for every difference from now on, and at once for each object that is already there."""
        self._handlers.append(handler)
        for obj in self.store.list():
            self._call(handler, None, obj)

    def add_presence_handler(self, handler: Callable[[], None]) -> None:
        """Calls `handler` when the server has begun, or ceased, to serve the kind."""
        self._presence_handlers.append(handler)

    async def run(self) -> None:
        """Never returns; ends by being cancelled."""
        while True:
            self._refreshing.clear()
            for feed in self._feeds:
                feed.is_synced = False
            async with asyncio.TaskGroup() as group:
                following = [group.create_task(reflector.run()) for reflector in self._reflectors]
                await self._refreshing.wait()
                for task in following:
                    task.cancel()

    def notify(self, difference: Difference[T]) -> None:
        """For the feeds: calls all handlers."""
        if difference.old is None and difference.new is None:
            return
        for handler in self._handlers:
            self._call(handler, difference.old, difference.new)

    def check_synced(self) -> None:
        """For the feeds: one of them has its objects."""
        if all(feed.is_synced for feed in self._feeds) and not self._refreshing.is_set():
            self.is_synced = True
            self._synced.set()
            self._known.set()

    def check_presence(self, *, was_missing: bool) -> None:
        """For the feeds: called when the problem of one of them has changed."""
        if self.is_kind_missing:
            self._known.set()
        if self.is_kind_missing != was_missing:
            for handler in self._presence_handlers:
                handler()

    def _call(self, handler: Handler[T], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception:
            log.exception("A handler of %s failed for %r", self.resource.plural, new or old)


class _Feed(Generic[T]):
    """What the reflector of one scope feeds: the shared store, then the handlers."""

    def __init__(self, informer: Informer[T], scope: str) -> None:
        self.scope = scope
        self.problem: CollectionProblem | None = None
        self.is_synced = False
        self._informer = informer
        self._store = informer.store

    def replaced(self, objects: Sequence[T], resource_version: str, *, keep: set[Key]) -> None:
        differences = self._store.replace(self.scope, objects, keep=keep)
        self._store.observed(self.scope, resource_version)
        for difference in differences:
            self._informer.notify(difference)
        if not self.is_synced:
            self.is_synced = True
            self._informer.check_synced()

    def changed(self, obj: T) -> None:
        difference = self._store.put(obj)
        self._store.observed(self.scope, obj.metadata.resource_version)
        self._informer.notify(difference)

    def deleted(self, key: Key, resource_version: str) -> None:
        difference = self._store.remove(key)
        self._store.observed(self.scope, resource_version)
        self._informer.notify(difference)

    def observed(self, resource_version: str) -> None:
        self._store.observed(self.scope, resource_version)

    def set_problem(self, problem: CollectionProblem | None) -> None:
        was_missing = self._informer.is_kind_missing
        self.problem = problem
        self._informer.check_presence(was_missing=was_missing)
