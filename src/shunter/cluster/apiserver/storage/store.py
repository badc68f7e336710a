"""The state of the cluster: raw JSON in memory serves every read and watch, the journal makes it durable.

A write is checked against the newest version of its object (`head`, which may still wait for its commit), gets the next revision,
and becomes visible, to readers and watchers alike and in the order of revisions, only when it is on disk. So no client ever sees
a state that a crash reverts.

Objects are kept as the bytes they are served from, without their leading `kind` and `apiVersion`: serving another version of the
kind, or an item of a list, is a change of prefix and no decoding.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.storage.journal import Journal, Row

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

WINDOW_EVENTS = 10_000
WINDOW_BYTES = 32 * 2**20
"""How much of a collection's past can be watched or paged through again; beyond it clients get 410 and list again."""

_LEADING = frozenset(("kind", "apiVersion", "metadata"))

_encode = msgspec.json.Encoder().encode


class _Labelled(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _WithMetadata(msgspec.Struct, gc=False):
    metadata: _Labelled = msgspec.field(default_factory=_Labelled)


class _WithRawMetadata(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_WithRawMetadata).decode
_labels_of = msgspec.json.Decoder(_WithMetadata).decode
_decode = msgspec.json.Decoder().decode


class Entry:
    """One version of one object. Immutable; what is derived from its bytes is kept once it was asked for."""

    __slots__ = ("_fields", "_labels", "name", "namespace", "revision", "tail", "uid")

    def __init__(self, namespace: str, name: str, uid: str, revision: int, tail: bytes) -> None:
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.revision = revision
        self.tail = tail
        """The JSON text after `{"kind":...,"apiVersion":...,`."""
        self._labels: dict[str, str] | None = None
        self._fields: dict[str, str] | None = None

    @property
    def key(self) -> str:
        """Its place in lists; the order of kube-apiserver's storage keys."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def labels(self) -> dict[str, str]:
        """Empty where there are none; shared, not to be changed."""
        if self._labels is None:
            self._labels = _labels_of(b"{" + self.tail).metadata.labels or {}
        return self._labels

    def field(self, path: str) -> str:
        """The text of a dotted path, `""` where there is nothing, as field selectors compare it."""
        if path == "metadata.name":
            return self.name
        if path == "metadata.namespace":
            return self.namespace
        if self._fields is None:
            self._fields = {}
        if path not in self._fields:
            self._fields[path] = _text_at(b"{" + self.tail, path)
        return self._fields[path]

    @property
    def metadata(self) -> bytes:
        """The JSON text of its metadata."""
        return bytes(_metadata_of(b"{" + self.tail).metadata)

    def document(self) -> Json:
        """A fresh copy of the object, without kind and apiVersion; the caller may change it."""
        document: Json = _decode(b"{" + self.tail)
        return document


def _text_at(text: bytes, path: str) -> str:
    decode, depth = _decoder_at(path)
    try:
        found = decode(text)
    except msgspec.ValidationError:
        return ""
    for _ in range(depth):
        found = None if found is None else found.value
    if isinstance(found, bool):
        return "true" if found else "false"
    return "" if found is None else str(found)


@cache
def _decoder_at(path: str) -> tuple[Callable[[bytes], Any], int]:
    """Decodes nothing but what stands at the path, in as many nested values as it has parts; absent parts are None."""
    parts = path.split(".")
    shape: Any = Any
    for part in reversed(parts):
        shape = msgspec.defstruct("At", [("value", shape | None, None)], rename={"value": part}, gc=False)
    return msgspec.json.Decoder(shape).decode, len(parts)


class Event:
    """A change that watchers see. `frames` holds its encodings, so each form is encoded once for all watchers."""

    __slots__ = ("entry", "frames", "previous", "type")

    def __init__(self, type: EventType, entry: Entry, previous: Entry | None) -> None:
        self.type: EventType = type
        self.entry = entry
        self.previous = previous
        self.frames: dict[Any, bytes] = {}

    @property
    def size(self) -> int:
        """In bytes: the text of the object, of its last state for a deletion."""
        return len(self.entry.tail)


Listener = Callable[[list[Event]], None]

_key = attrgetter("key")


class ExpiredError(Exception):
    """The requested revision is older than the retained events."""

    def __init__(self, floor: int) -> None:
        super().__init__(floor)
        self.floor = floor


class Collection:
    """All objects of one resource, whatever version they are served in."""

    def __init__(self, group: str, plural: str, floor: int) -> None:
        self.group = group
        self.plural = plural
        self.floor = floor
        """Events up to this revision are forgotten."""
        self.listeners: set[Listener] = set()
        self._namespaces: dict[str, dict[str, Entry]] = {}
        self._heads: dict[tuple[str, str], Entry | None] = {}
        self._window: deque[Event] = deque()
        self._window_bytes = 0
        self._order: list[Entry] | None = None

    def __len__(self) -> int:
        return sum(len(names) for names in self._namespaces.values())

    def get(self, namespace: str, name: str) -> Entry | None:
        """The committed version."""
        names = self._namespaces.get(namespace)
        return names.get(name) if names else None

    def head(self, namespace: str, name: str) -> Entry | None:
        """The newest version, committed or not, on which a write must be based."""
        key = (namespace, name)
        if key in self._heads:
            return self._heads[key]
        return self.get(namespace, name)

    def heads(self) -> Iterator[Entry]:
        """The newest versions of all objects, in no order."""
        for entry in self._all():
            if (entry.namespace, entry.name) not in self._heads:
                yield entry
        yield from (entry for entry in self._heads.values() if entry is not None)

    def entries(self, namespace: str = "") -> Iterable[Entry]:
        """All committed objects in list order, of one namespace when given."""
        if namespace:
            names = self._namespaces.get(namespace, {})
            return [names[name] for name in sorted(names)]
        if self._order is None:
            self._order = sorted(self._all(), key=_key)
        return self._order

    def entries_at(self, revision: int, namespace: str = "") -> Iterable[Entry]:
        """The objects as they were at a past revision. Raises `ExpiredError` when that is beyond the window."""
        if revision < self.floor:
            raise ExpiredError(self.floor)
        if not self._window or self._window[-1].entry.revision <= revision:
            return self.entries(namespace)
        later = self.since(revision)
        state = {(entry.namespace, entry.name): entry for entry in self._all()}
        for event in reversed(later):
            key = (event.entry.namespace, event.entry.name)
            if event.previous is None:
                state.pop(key, None)
            else:
                state[key] = event.previous
        return sorted((entry for entry in state.values() if not namespace or entry.namespace == namespace), key=_key)

    def since(self, revision: int) -> list[Event]:
        """The events after a revision, oldest first. Raises `ExpiredError` when some of them are forgotten."""
        if revision < self.floor:
            raise ExpiredError(self.floor)
        later = list(takewhile(lambda event: event.entry.revision > revision, reversed(self._window)))
        later.reverse()
        return later

    def _all(self) -> Iterator[Entry]:
        for names in self._namespaces.values():
            yield from names.values()

    def load(self, entry: Entry) -> None:
        """Adds an object from disk, as the committed version and without an event; only before anything is listed."""
        self._namespaces.setdefault(entry.namespace, {})[entry.name] = entry

    def set_head(self, namespace: str, name: str, entry: Entry | None) -> None:
        """Sets the version on which the next write must be based, None for a deletion; readers see it only after `publish`."""
        self._heads[namespace, name] = entry

    def forget_heads(self) -> None:
        """Drops all versions that are not committed, as after a failed commit."""
        self._heads.clear()

    def publish(self, event: Event) -> None:
        """Makes a committed change visible to reads and remembers it for watches; calls no listener. Beyond 10,000 events or 32
        MiB the oldest are forgotten, and `floor` rises."""
        entry = event.entry
        key = (entry.namespace, entry.name)
        names = self._namespaces.setdefault(entry.namespace, {})
        if event.type == "DELETED":
            names.pop(entry.name, None)
            if not names:
                del self._namespaces[entry.namespace]
            if self._heads.get(key, entry) is None:
                del self._heads[key]
        else:
            names[entry.name] = entry
            if self._heads.get(key) is entry:
                del self._heads[key]
        self._order = None
        self._window.append(event)
        self._window_bytes += event.size
        while len(self._window) > WINDOW_EVENTS or self._window_bytes > WINDOW_BYTES:
            forgotten = self._window.popleft()
            self._window_bytes -= forgotten.size
            self.floor = forgotten.entry.revision


class _Write:
    """One write on its way through the journal."""

    __slots__ = ("collection", "done", "durable", "event", "generation", "head", "revision")

    def __init__(self, collection: Collection, event: Event, durable: bool, generation: int, done: asyncio.Future[Entry]) -> None:
        self.collection = collection
        self.event = event
        self.durable = durable
        self.generation = generation
        self.revision = event.entry.revision
        self.done = done

    def upsert(self) -> Row | None:
        if not self.durable or self.event.type == "DELETED":
            return None
        entry = self.event.entry
        return Row(self.collection.group, self.collection.plural, entry.namespace, entry.name, entry.revision, entry.tail)

    def delete(self) -> tuple[str, str, str, str] | None:
        if not self.durable or self.event.type != "DELETED":
            return None
        entry = self.event.entry
        return (self.collection.group, self.collection.plural, entry.namespace, entry.name)


class StaleError(Exception):
    """The object is no longer the version that the write was built on."""


class ObjectTooLargeError(Exception):
    """The object has more bytes than the write allows."""


class Store:
    """Every collection, the revision counter, and the journal behind them."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._allocated = max(self._journal.ceiling, 1)
        self._generation = 0
        self.revision = self._allocated
        """The newest committed revision: `metadata.resourceVersion` of lists."""
        self._floor = self._allocated
        self._newest: asyncio.Future[Entry] | None = None
        """The result of the last accepted write."""
        self._collections: dict[tuple[str, str], Collection] = {}
        for row in self._journal.rows():
            self.collection(row.group, row.plural).load(Entry(row.namespace, row.name, _uid(row.value), row.revision, row.value))

    def start(self) -> None:
        """Starts to accept writes, on the running loop."""
        self._journal.start(asyncio.get_running_loop(), self._committed, self._failed)  # type: ignore[arg-type]

    def close(self) -> None:
        """Commits what was accepted and closes the file."""
        self._journal.close()

    def collection(self, group: str, plural: str) -> Collection:
        """The collection of a resource, created at the first call. Events from before the store was opened cannot be watched."""
        key = (group, plural)
        if key not in self._collections:
            self._collections[key] = Collection(group, plural, self._floor)
        return self._collections[key]

    def collections(self) -> Iterable[Collection]:
        """A copy of the list of collections that hold objects or were ever requested."""
        return list(self._collections.values())

    async def write(
        self, collection: Collection, document: Json, *, previous: Entry | None, durable: bool, limit: int | None = None
    ) -> Entry:
        """Stores `document` as the next version after `previous` (None: a new object) and returns it once it is committed.

        Sets `metadata.resourceVersion` in the document. Raises `StaleError` when `previous` is not the newest version any more,
        and `ObjectTooLargeError` when its JSON has more than `limit` bytes.
        """
        return await self._append(collection, document, previous, durable, deleted=False, limit=limit)

    async def remove(self, collection: Collection, document: Json, *, previous: Entry, durable: bool) -> Entry:
        """Deletes the object; `document` is its last state, which watchers see."""
        return await self._append(collection, document, previous, durable, deleted=True)

    async def settled(self) -> None:
        """Returns once all that was accepted so far is visible, or was refused by the disk."""
        if self._newest is not None:
            await asyncio.wait((self._newest,))

    def _append(
        self,
        collection: Collection,
        document: Json,
        previous: Entry | None,
        durable: bool,
        *,
        deleted: bool,
        limit: int | None = None,
    ) -> asyncio.Future[Entry]:
        metadata = document["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if collection.head(namespace, name) is not previous:
            raise StaleError
        metadata["resourceVersion"] = str(self._allocated + 1)
        tail = encoded_tail(document)
        if limit is not None and len(tail) > limit:
            raise ObjectTooLargeError
        self._allocated += 1
        entry = Entry(namespace, name, metadata["uid"], self._allocated, tail)
        event = Event("DELETED" if deleted else "MODIFIED" if previous else "ADDED", entry, previous)
        collection.set_head(namespace, name, None if deleted else entry)
        done = self._newest = asyncio.get_running_loop().create_future()
        self._journal.append(_Write(collection, event, durable, self._generation, done))
        return done

    def _committed(self, writes: list[_Write]) -> None:
        touched: dict[Collection, list[Event]] = {}
        for write in writes:
            write.collection.publish(write.event)
            touched.setdefault(write.collection, []).append(write.event)
        self.revision = writes[-1].revision
        for collection, events in touched.items():
            for listener in tuple(collection.listeners):
                listener(events)
        for write in writes:
            if not write.done.done():
                write.done.set_result(write.event.entry)

    def _failed(self, writes: list[_Write], error: Exception) -> None:
        """Handles a failed commit: nothing of this generation is on disk, so writes based on it fail too, and later writes start
        from the committed versions."""
        if writes[-1].generation == self._generation:
            self._generation += 1
            for collection in self._collections.values():
                collection.forget_heads()
        for write in writes:
            if not write.done.done():
                write.done.set_exception(error)


_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def encoded_tail(document: Json) -> bytes:
    """The JSON text of an object after kind and apiVersion: metadata first, its fields in the order of Go's ObjectMeta."""
    metadata = document["metadata"]
    ordered = {"metadata": {name: metadata[name] for name in _METADATA_ORDER if name in metadata}}
    ordered.update((name, value) for name, value in document.items() if name not in _LEADING)
    return _encode(ordered)[1:]


class _Identified(msgspec.Struct, gc=False):
    uid: str = ""


class _Identity(msgspec.Struct, gc=False):
    metadata: _Identified = msgspec.field(default_factory=_Identified)


_identity_of = msgspec.json.Decoder(_Identity).decode


def _uid(tail: bytes) -> str:
    return _identity_of(b"{" + tail).metadata.uid
