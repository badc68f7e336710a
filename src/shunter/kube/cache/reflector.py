"""Keeps a sink up to date with one collection: lists it once, then follows a watch for as long as the process lives.

client-go's rules. What ends a watch decides how it goes on: closed cleanly, or broken: resumed where it stopped; silent for
longer than a bookmark takes: hung up and resumed; 410, or a version from the future: listed again. All restarts but those after a
clean close wait with growing back-off. An object that does not fit the view is reported once and left out; it stops no others.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from logging import INFO, WARNING, getLogger
from typing import Generic, NamedTuple, Protocol, TypeVar

from shunter.api.resources import Resource
from shunter.kube.cache.store import Object, key_of
from shunter.kube.cache.watch_events import Bookmark, Change, Malformed, Pause
from shunter.kube.client import PAGE_SIZE, Client
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import (
    ApiError,
    BadRequest,
    ConnectionProblem,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerTimeout,
    Unauthorized,
)
from shunter.kube.retry import requested_wait

log = getLogger(__name__)

T = TypeVar("T", bound=Object)
T_contra = TypeVar("T_contra", bound=Object, contravariant=True)

SHORT_WATCH = 1.0
"""A watch that ends this soon (seconds) and said nothing is a failing server, not a time-out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. Bookmarks come every minute, so that a longer silence means a dead connection."""

    watch: tuple[float, float] = (300.0, 600.0)
    silence: float = 75.0
    first_wait: float = 0.05
    """Doubled with every failure: a server that is just starting is found at once, one that is away is left in peace."""
    longest_wait: float = 30.0
    longest_wait_for_kind: float = 5.0
    """While the server does not serve the kind at all: its CRD may be installed any moment."""
    pause: float = 0.0
    """After each read of a watch, for collections that may be seen a little late: what comes meanwhile is read at once, in order
    and without loss, which costs a fraction of reading each change as it comes."""


class CollectionProblem(NamedTuple):
    """Why a collection cannot be read for now."""

    text: str
    is_missing_kind: bool = False


class Sink(Protocol[T_contra]):
    """What a reflector feeds."""

    def replaced(self, objects: Sequence[T_contra], resource_version: str, *, keep: set[Key]) -> None:
        """The collection holds exactly these objects, besides `keep`: objects that are there but do not fit the view."""

    def changed(self, obj: T_contra) -> None:
        """An object came or changed."""

    def deleted(self, key: Key, resource_version: str) -> None:
        """An object went."""

    def observed(self, resource_version: str) -> None:
        """Everything up to this version has been fed."""

    def set_problem(self, problem: CollectionProblem | None) -> None:
        """The collection cannot be read for now; None once it can be again."""


class Reflector(Generic[T]):
    """Feeds one sink from one collection; an empty namespace means all of them."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        view: type[T],
        sink: Sink[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timing: Timing = Timing(),
        is_optional: bool = False,
        ended: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """No warning is logged if a kind that `is_optional` is missing. `ended` is called with the reason why a watch ended:
        `closed`, `gone`, `broken`, or a refusal's reason."""
        self._is_optional = is_optional
        self._ended = ended
        self._client = client
        self._resource = resource
        self._view = view
        self._sink = sink
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._timing = timing
        self._pause = Pause(timing.pause) if timing.pause else None
        self._resource_version = ""
        """Where the next watch resumes; empty when the collection must be listed."""
        self._has_watch_list = True
        self._malformed: set[Key] = set()
        self._failures = 0

    def end_pause(self) -> None:
        """Ends a pause between two reads."""
        if self._pause is not None:
            self._pause.end()

    async def run(self) -> None:
        """Never returns; ends by being cancelled. Starts with a list."""
        self._resource_version = ""
        while True:
            was_watching = bool(self._resource_version)
            problem = await self._round()
            if was_watching:
                self._ended(_reason(problem))
            if problem is not None:
                self._report(problem)
                await asyncio.sleep(self._wait(problem))

    async def _round(self) -> ApiError | None:
        """One list or one watch to its end; what went wrong, if anything did."""
        started = time.monotonic()
        previous_version = self._resource_version
        try:
            if self._resource_version:
                async with aclosing(self._watch(send_initial_events=False)) as events:
                    await self._receive(events)
            elif self._has_watch_list:
                await self._watch_list()
            else:
                await self._list()
        except (Gone, ServerTimeout) as error:
            # A version that the server no longer, or not yet, has: the latter after it was restored from a backup.
            self._resource_version = ""
            return error
        except ApiError as error:
            return error
        if self._resource_version == previous_version and time.monotonic() - started < SHORT_WATCH:
            return ConnectionProblem(f"The watch of {self._resource.plural} ended at once.")
        return None

    async def _list(self) -> None:
        try:
            await self._read_pages(PAGE_SIZE)
        except Gone:
            # The collection changes faster than its pages are read: read it in one.
            await self._read_pages(0)

    async def _read_pages(self, limit: int) -> None:
        objects: list[T] = []
        bad: list[Malformed] = []
        resource_version = ""
        pages = self._client.pages(
            self._resource,
            self._namespace,
            view=self._view,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            limit=limit,
        )
        async with aclosing(pages):
            async for page in pages:
                objects += page.items
                bad += page.malformed
                resource_version = page.resource_version
        self._replace(objects, bad, resource_version)

    async def _watch_list(self) -> None:
        """Lists and goes on watching in one request; servers that cannot are listed the old way from then on."""
        if self._pause is not None:
            self._pause.is_due = False
        try:
            async with aclosing(self._watch(send_initial_events=True)) as events:
                if await self._receive_initial(events):
                    await self._receive(events)
                    return
        except (BadRequest, Invalid) as error:
            log.debug("%s: the server has no streaming lists: %s", self._resource.plural, error)
        self._has_watch_list = False
        await self._list()

    async def _receive_initial(self, events: AsyncGenerator[Change[T] | Bookmark | Malformed, None]) -> bool:
        """Whether the initial objects arrived completely. A server that ignores the request never says that they did."""
        objects: dict[Key, T] = {}
        bad: dict[Key, Malformed] = {}
        async for event in events:
            match event:
                case Change(type="DELETED", object=obj):
                    objects.pop(key_of(obj), None)
                case Change(object=obj):
                    objects[key_of(obj)] = obj
                case Malformed(type=kind, key=key):
                    objects.pop(key, None)
                    if kind != "DELETED":
                        bad[key] = event
                case Bookmark(resource_version=resource_version, ends_initial_events=True):
                    self._replace(list(objects.values()), list(bad.values()), resource_version)
                    return True
                case Bookmark():
                    return False
        return False

    async def _receive(self, events: AsyncGenerator[Change[T] | Bookmark | Malformed, None]) -> None:
        if self._pause is not None:
            self._pause.is_due = True
        async for event in events:
            match event:
                case Change(type="DELETED", object=obj):
                    self._malformed.discard(key_of(obj))
                    self._advance(obj.metadata.resource_version)
                    self._sink.deleted(key_of(obj), obj.metadata.resource_version)
                case Change(object=obj):
                    self._malformed.discard(key_of(obj))
                    self._advance(obj.metadata.resource_version)
                    self._sink.changed(obj)
                case Bookmark(resource_version=resource_version):
                    self._advance(resource_version)
                    self._sink.observed(resource_version)
                case Malformed(type="DELETED", key=key, resource_version=resource_version):
                    self._malformed.discard(key)
                    self._advance(resource_version)
                    self._sink.deleted(key, resource_version)
                case Malformed(resource_version=resource_version):
                    self._report_malformed(event)
                    self._advance(resource_version)
                    self._sink.observed(resource_version)

    def _advance(self, resource_version: str) -> None:
        self._resource_version = resource_version
        if self._failures:
            self._failures = 0
            self._sink.set_problem(None)

    def _replace(self, objects: list[T], bad: Sequence[Malformed], resource_version: str) -> None:
        for event in bad:
            self._report_malformed(event)
        keys = {event.key for event in bad}
        self._malformed = keys
        self._resource_version = resource_version
        self._sink.replaced(objects, resource_version, keep=keys)
        self._sink.set_problem(None)

    def _watch(self, *, send_initial_events: bool) -> AsyncGenerator[Change[T] | Bookmark | Malformed, None]:
        return self._client.watch(
            self._resource,
            self._namespace,
            view=self._view,
            resource_version=self._resource_version,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            timeout_seconds=round(random.uniform(*self._timing.watch)),
            send_initial_events=send_initial_events,
            silence=self._timing.silence,
            pause=self._pause,
        )

    def _report_malformed(self, bad: Malformed) -> None:
        if bad.key not in self._malformed:
            self._malformed.add(bad.key)
            log.error(
                "%s %s is left out: it is not as this version of shunter expects it: %s", self._resource.kind, bad.key, bad.error
            )

    def _report(self, problem: ApiError) -> None:
        self._failures += 1
        text = _explanation(problem, self._resource, self._namespace)
        self._sink.set_problem(CollectionProblem(text, isinstance(problem, NotFound)))
        # A broken connection is mended at the next attempt nearly always; only a lasting one is worth a line.
        is_lasting = isinstance(problem, NotFound | Forbidden | Unauthorized)
        if self._failures == (1 if is_lasting else 2):
            level = INFO if self._is_optional and isinstance(problem, NotFound) else WARNING
            log.log(level, "%s: %s", self._resource.plural, text)

    def _wait(self, problem: ApiError) -> float:
        longest = self._timing.longest_wait_for_kind if isinstance(problem, NotFound) else self._timing.longest_wait
        wait = self._timing.first_wait * 2.0 ** min(self._failures - 1, 16) * random.uniform(1.0, 2.0)
        return max(min(wait, longest), requested_wait(problem))


def _reason(problem: ApiError | None) -> str:
    """The reason in one word, for metrics."""
    match problem:
        case None:
            return "closed"
        case Gone() | ServerTimeout():
            return "gone"
        case ConnectionProblem():
            return "broken"
        case _:
            return problem.reason or str(problem.code)


def _explanation(problem: ApiError, resource: Resource, namespace: str) -> str:
    name = resource.full_name
    match problem:
        case NotFound():
            return (
                f"The server does not serve {name} ({resource.api_version}). Install its CustomResourceDefinition; "
                "it is waited for."
            )
        case Forbidden():
            where = f"in namespace {namespace}" if namespace else "in all namespaces"
            return f"{problem.message}. The operator's role must allow get, list and watch of {name} {where}."
        case _:
            return str(problem)
