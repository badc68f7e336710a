"""WATCH: events of one collection to one client, encoded once for all clients that ask for the same form.

A client that reads more slowly than the cluster changes is cut, as it can list again; nothing is buffered without bound.
Source: k8s.io/apiserver `storage/cacher` and `endpoints/handlers/watch.go`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import msgspec

from shunter.api.field_errors import FieldError, forbidden, not_supported
from shunter.api.meta import Json
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.negotiation import Form
from shunter.cluster.apiserver.printers.tables import check_include, partial, partial_json, table
from shunter.cluster.apiserver.reads import list_errors, selector
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, Query, number, revision
from shunter.cluster.apiserver.selectors import Selector, Term, exact_name
from shunter.cluster.apiserver.status import StatusError, bad_request, expired, invalid
from shunter.cluster.apiserver.storage.store import Collection, Entry, Event, EventType, ExpiredError
from shunter.kube.http.request import flag

log = logging.getLogger(__name__)

PENDING_BYTES = 32 * 2**20
"""A client that is further behind than this is cut. The initial events do not count: the client could not read them yet, and a
collection may be larger."""
CHUNK_BYTES = 256 * 1024
DISTANCE_SECONDS = 0.005
"""Between two chunks of one watch, once many have gone."""
AT_ONCE = 10
"""So many chunks go without a distance after a pause: one job's own changes do not wait for one another."""
BOOKMARK_SECONDS = 30.0
MIN_TIMEOUT = 1800.0
"""Seconds a watch lasts at least when the client names no time; kube-apiserver's --min-request-timeout."""


class View(NamedTuple):
    """How one client sees a collection."""

    backend: Backend
    served: ServedKind
    form: Form
    include: str

    def frame(self, type: EventType, event: Event) -> bytes:
        """The event as a line of the stream."""
        entry = _last_match(event) if type == "DELETED" and event.type != "DELETED" else event.entry
        key = (type, self.served.prefix, self.form.shape, self.form.version, self.include)
        frame = event.frames.get(key)
        if frame is None:
            frame = event.frames[key] = self.line(type, entry)
        return frame

    def line(self, type: str, entry: Entry) -> bytes:
        """The event as a line of the stream, encoded for this client alone; `frame` shares the work."""
        return _line(type, self.shown(entry))

    def shown(self, entry: Entry, *, headers: bool = False) -> bytes:
        """The object as JSON in the form asked for. Of a table, `headers` are its column definitions, which only the first event
        has."""
        if self.form.shape == "object":
            return self.served.body(entry)
        if self.form.shape == "metadata":
            return partial_json(entry.metadata, self.form.version)
        document = self.served.document(entry)
        metadata = {"resourceVersion": str(entry.revision)}
        return msgspec.json.encode(
            table(
                self.served,
                [document],
                self.backend.now(),
                metadata=metadata,
                include=self.include,
                version=self.form.version,
                headers=headers,
            )
        )

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> bytes:
        """A line without an object, only its kind and the revision; `initial_events_end` marks the end of what there was at
        first."""
        resource = self.served.resource
        metadata: Json = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        shown: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self.form.shape == "metadata":
            shown = partial(shown, self.form.version)
        elif self.form.shape == "table":
            shown = table(
                self.served, [], self.backend.now(), metadata=metadata, include="", version=self.form.version, headers=False
            )
        return _line("BOOKMARK", msgspec.json.encode(shown))


def _line(type: str, shown: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type.encode(), shown)


def _last_match(event: Event) -> Entry:
    """The DELETED object for a client whose selector no longer matches: its last matching state, at the new revision."""
    assert event.previous is not None, "only an object that was there can leave"
    document = event.previous.document()
    document["metadata"]["resourceVersion"] = str(event.entry.revision)
    tail = msgspec.json.encode(document)[1:]
    return Entry(event.entry.namespace, event.entry.name, event.entry.uid, event.entry.revision, tail)


class Watcher:
    """Collects the frames of one watch between two reads of its client."""

    def __init__(self, collection: Collection, view: View, namespace: str, selector: Selector) -> None:
        self._collection = collection
        self._view = view
        self._namespace = namespace
        self._selector = selector
        self._pending: list[bytes] = []
        self._bytes = 0
        self._is_read = False
        """Whether the client had a first chunk."""
        self._next_at = -math.inf
        """When the next chunk may go, had none been saved up, on the loop's clock."""
        self._arrived: asyncio.Future[None] | None = None
        """Set while a chunk is waited for."""
        self._first = view.form.shape == "table"
        self.cut: Callable[[], None] = lambda: None
        """Called when the client is too slow, or cannot be shown what happened."""

    def __enter__(self) -> Watcher:
        self._collection.listeners.add(self.on_events)
        return self

    def __exit__(self, *exc: object) -> None:
        self._collection.listeners.discard(self.on_events)

    def on_events(self, events: list[Event]) -> None:
        """Queues what concerns this client; the listener of its collection. Where a change cannot be encoded, this watch is cut,
        and the others go on."""
        for event in events:
            if self._namespace and event.entry.namespace != self._namespace:
                continue
            type = self._type(event)
            if type is not None:
                try:
                    frame = self._frame(type, event)
                except Exception:
                    # The others, and whoever waits for this commit, have no part in it.
                    log.exception("a watch of %s is cut at %s", self._collection.plural, event.entry.key)
                    self.cut()
                    return
                self.push(frame)

    def _frame(self, type: EventType, event: Event) -> bytes:
        if self._first:
            self._first = False
            return _line(type, self._view.shown(event.entry, headers=True))
        return self._view.frame(type, event)

    def _type(self, event: Event) -> EventType | None:
        """The type of the event for a client that sees only objects matching its selector; None for no event."""
        if self._selector.is_empty:
            return event.type
        before = event.previous is not None and self._selector.matches(event.previous)
        if event.type == "DELETED":
            return "DELETED" if before else None
        after = self._selector.matches(event.entry)
        if before:
            return "MODIFIED" if after else "DELETED"
        return "ADDED" if after else None

    def add_initial(self) -> None:
        """Queues an ADDED event for every object there is."""
        for entry in self._collection.entries(self._namespace):
            if self._selector.matches(entry):
                shown = self._view.shown(entry, headers=self._first)
                self._first = False
                self.push(_line("ADDED", shown))

    def push(self, frame: bytes) -> None:
        """Queues a line. A client that had its first chunk and is more than `PENDING_BYTES` behind is cut."""
        self._pending.append(frame)
        self._bytes += len(frame)
        if self._arrived is not None:
            self._announce(self._arrived)
            self._arrived = None
        if self._is_read and self._bytes > PENDING_BYTES:
            self._pending.clear()
            self._bytes = 0
            self.cut()

    async def chunk(self, timeout: float) -> bytes:
        """The frames collected so far, as soon as there are some; nothing after `timeout` seconds. Chunks keep a distance: a few
        events go out at once, a crowd of them in few writes, which spares server and client most of their work."""
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()
        if self._pending:
            self._announce(arrived)
        else:
            self._arrived = arrived
        giving_up = loop.call_later(timeout, _set, arrived)
        try:
            await arrived
        finally:
            giving_up.cancel()
            self._arrived = None
        self._next_at = max(self._next_at, loop.time() - (AT_ONCE - 1) * DISTANCE_SECONDS) + DISTANCE_SECONDS
        self._is_read = True
        frames, self._pending, self._bytes = self._pending, [], 0
        return b"".join(frames)

    def _announce(self, arrived: asyncio.Future[None]) -> None:
        """Frames are there: lets them go when it is time."""
        loop = arrived.get_loop()
        early = self._next_at - loop.time()
        if early > 0:
            loop.call_later(early, _set, arrived)
        else:
            _set(arrived)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Watch(NamedTuple):
    """What a WATCH request asks for. With negative `seconds` it is over before it begins."""

    since: int
    initial: bool
    initial_end: bool
    bookmarks: bool
    seconds: float
    selector: Selector


def parse(call: Call, served: ServedKind) -> Watch:
    """Raises 400, 422 and 500, as the original does."""
    query = call.query
    if flag(query, "watch") and _is_from_any_state(query):
        query = {**query, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    errors = _watch_errors(query) if flag(query, "watch") else list_errors(query)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    include = check_include(query.get("includeObject", ""))
    if include:
        raise include
    selection = selector(call, served)
    if call.target.name:
        selection = Selector(selection.requirements, (*selection.terms, _name_term(call)))
    since = revision(query.get("resourceVersion", ""), watch=True)
    send_initial = flag(query, "sendInitialEvents")
    seconds = number(query, "timeoutSeconds") or 0
    number(query, "limit")
    return Watch(
        since=since,
        initial=send_initial or (since == 0 and "sendInitialEvents" not in query),
        initial_end=send_initial and flag(query, "allowWatchBookmarks"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        seconds=float(seconds) if seconds else MIN_TIMEOUT * (1 + random.random()),
        selector=selection,
    )


def _is_from_any_state(query: Query) -> bool:
    """Whether it starts with all there is without saying so; source: apimachinery `SetListOptionsDefaults`."""
    says_so = "sendInitialEvents" in query or query.get("resourceVersionMatch")
    return not says_so and query.get("resourceVersion", "") in ("", "0")


def _name_term(call: Call) -> Term:
    """The name of the path as a field selector. Raises 400 where there is one already that asks for something else."""
    name, fields = call.target.name, call.query.get("fieldSelector", "")
    if fields and exact_name(fields) != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return Term("metadata.name", name, negated=False)


def _watch_errors(query: Query) -> list[FieldError]:
    errors: list[FieldError] = []
    match, initial = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    if initial and match != "NotOlderThan":
        errors.append(
            forbidden("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        )
    if match:
        if not initial:
            errors.append(
                forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
                )
            )
        if match != "NotOlderThan":
            errors.append(not_supported("resourceVersionMatch", match, ["NotOlderThan"]))
        if query.get("continue"):
            errors.append(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
    return errors


async def frames(
    backend: Backend, call: Call, served: ServedKind, form: Form, request: Watch, stopping: asyncio.Event, cut: Callable[[], None]
) -> AsyncIterator[bytes]:
    """The lines of a watch, in chunks, until its time is over, the server stops, or the client is too slow (`cut` is called)."""
    collection = backend.collection(served)
    view = View(backend, served, form, call.query.get("includeObject", ""))
    try:
        missed = [] if request.initial or request.since == 0 else collection.since(request.since)
    except ExpiredError as error:
        yield error_line(expired(f"too old resource version: {request.since} ({error.floor})"))
        return
    loop = asyncio.get_running_loop()
    until = loop.time() + request.seconds
    with Watcher(collection, view, call.target.namespace, request.selector) as watcher:
        watcher.cut = cut
        if request.initial:
            watcher.add_initial()
        else:
            watcher.on_events(missed)
        if request.initial_end:
            watcher.push(view.bookmark(backend.store.revision, initial_events_end=True))
        next_bookmark = loop.time() + BOOKMARK_SECONDS
        while not stopping.is_set():
            now = loop.time()
            if now >= until:
                return
            chunk = await watcher.chunk(min(until, next_bookmark) - now)
            for start in range(0, len(chunk), CHUNK_BYTES):
                yield chunk[start : start + CHUNK_BYTES]
            if loop.time() >= next_bookmark:
                next_bookmark = loop.time() + BOOKMARK_SECONDS
                if request.bookmarks and not stopping.is_set():
                    # Behind the events that came while the client read the last chunk: it speaks for them too.
                    watcher.push(view.bookmark(backend.store.revision))


def error_line(error: StatusError) -> bytes:
    """The last line of a watch that cannot go on, with the Status as its object."""
    return _line("ERROR", msgspec.json.encode(error.status()))
