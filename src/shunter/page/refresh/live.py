"""The rows of one running view, and for each listener the ids of the rows that it still has to be sent. Pure except for waiting.

A listener stores ids, not events: however slow its reader is, its backlog is limited by the number of rows, and it always gets
the current rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from shunter.page.views.view import Rows
from shunter.page.wire import Hidden, Row, Session

Event = tuple[str, Any]
"""Name and data, as `wire` lists them."""


def encoded(event: Event) -> bytes:
    """An event of a text/event-stream."""
    name, data = event
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(data))


class Break(NamedTuple):
    """Collections that are out of date, and why."""

    collections: frozenset[str]
    since: float
    """Seconds since 1970."""
    why: str
    is_away: bool
    """The API server does not answer."""


class Table:
    """Rows by collection and id; every listener is notified of changes."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Row]] = {}
        self._breaks: dict[Hashable, Break] = {}
        self._hidden: tuple[Hidden, ...] = ()
        self._listeners: set[Listener] = set()
        self.is_complete = False
        """Everything has been read once: before that no rows are sent."""

    @property
    def listeners(self) -> int:
        """The number of listeners; without any, the view may be stopped."""
        return len(self._listeners)

    def listen(self, session: Callable[[], Session]) -> Listener:
        """A new listener, which the caller closes. Its first event is a snapshot, with the result of `session`."""
        listener = Listener(self, session)
        self._listeners.add(listener)
        return listener

    def replace(self, rows: Rows) -> bool:
        """Replaces all rows. Returns whether any row has changed, or these are the first."""
        has_changed, self.is_complete = not self.is_complete, True
        for collection in {*self._rows, *rows}:
            before = self._rows.get(collection, {})
            after = {row.id: row for row in rows.get(collection, ())}
            changed = [id for id, row in after.items() if (old := before.get(id)) is not row and old != row]
            changed += [id for id in before if id not in after]
            self._rows[collection] = after
            if changed:
                has_changed = True
                for listener in self._listeners:
                    listener.note(collection, changed)
        if has_changed:
            self._wake()
        return has_changed

    def broken(self, cause: Hashable, collections: Iterable[str], since: float, why: str, *, is_away: bool = True) -> None:
        """Marks the collections as out of date because of `cause`, since that time (seconds since 1970), or an earlier one from a
        previous call. The other values replace those of the previous call: a server that shuts down first says so, and then stops
        answering."""
        known = self._breaks.get(cause)
        one = Break(frozenset(collections), min(since, known.since) if known else since, why, is_away)
        if one != known:
            self._breaks[cause] = one
            self._wake()

    def whole(self, cause: Hashable) -> None:
        """This cause has ended. Collections stay out of date while there is another cause."""
        if self._breaks.pop(cause, None) is not None:
            self._wake()

    def hide(self, hidden: tuple[Hidden, ...]) -> None:
        """Sets what is missing on the page, replacing what was set before."""
        if hidden != self._hidden:
            self._hidden = hidden
            self._wake()

    def restart(self) -> None:
        """Sends every listener a new snapshot."""
        for listener in self._listeners:
            listener.start_again()

    def end(self, why: str) -> None:
        """Sends every listener its last event."""
        for listener in self._listeners:
            listener.end(why)

    def forget(self, listener: Listener) -> None:
        """The listener gets no more events. May be called twice."""
        self._listeners.discard(listener)

    @property
    def rows(self) -> Mapping[str, Mapping[str, Row]]:
        """By collection, then by id, in the order of the last `replace`. Read-only."""
        return self._rows

    @property
    def gone(self) -> Mapping[str, Break]:
        """Collections that are out of date, each with its oldest break."""
        breaks = sorted(self._breaks.values(), key=lambda one: one.since, reverse=True)
        return {collection: one for one in breaks for collection in sorted(one.collections)}

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        """What is missing on the page, as set by the last `hide`."""
        return self._hidden

    def _wake(self) -> None:
        for listener in self._listeners:
            listener.wake()


class Listener:
    """What one stream was sent of a table, and what it still has to be sent."""

    def __init__(self, table: Table, session: Callable[[], Session]) -> None:
        self._table = table
        self._session = session
        self._changed: dict[str, dict[str, None]] = {}
        self._gone: dict[str, Break] = {}
        self._hidden: tuple[Hidden, ...] = ()
        self._has_snapshot = False
        self._end = ""
        self._has_events = asyncio.Event()
        self._has_events.set()

    def note(self, collection: str, ids: Iterable[str]) -> None:
        """Rows with these ids have changed or are gone. Ignored while a snapshot is due, as that contains all rows."""
        if self._has_snapshot:
            self._changed.setdefault(collection, {}).update(dict.fromkeys(ids))

    def start_again(self) -> None:
        """The next event is a snapshot; it replaces the backlog."""
        self._has_snapshot = False
        self._changed.clear()
        self.wake()

    def end(self, why: str) -> None:
        """The next event is the last one, with this reason; the backlog is dropped."""
        self._end = why
        self.wake()

    def wake(self) -> None:
        """Lets `wait` return, whether there are events or not."""
        self._has_events.set()

    def close(self) -> None:
        """To be called by the caller of `Table.listen`: the table keeps the listener until then."""
        self._table.forget(self)

    async def wait(self, seconds: float) -> bool:
        """Waits until there may be events for `take`. Returns False after so many seconds without any."""
        try:
            async with asyncio.timeout(seconds):
                await self._has_events.wait()
        except TimeoutError:
            return False
        return True

    def take(self, now: float) -> list[Event]:
        """The events to send now. `now` is seconds since 1970."""
        self._has_events.clear()
        if self._end:
            return [("end", {"why": self._end})]
        table = self._table
        if not table.is_complete:
            return self._breaks(now)
        events: list[Event] = []
        if not self._has_snapshot:
            self._has_snapshot = True
            self._gone, self._hidden = {}, ()
            rows = {collection: [*found.values()] for collection, found in table.rows.items()}
            events.append(("snapshot", {"session": self._session(), "rows": rows}))
        elif delta := self._delta():
            events.append(("delta", delta))
        events += self._breaks(now)
        if self._hidden != table.hidden:
            self._hidden = table.hidden
            events.append(("hidden", table.hidden))
        return events

    def _delta(self) -> dict[str, dict[str, list[Any]]]:
        delta: dict[str, dict[str, list[Any]]] = {}
        for collection, ids in self._changed.items():
            rows = self._table.rows.get(collection, {})
            changes: dict[str, list[Any]] = {
                "set": [rows[id] for id in ids if id in rows],
                "del": [id for id in ids if id not in rows],
            }
            if ids:
                delta[collection] = changes
        self._changed.clear()
        return delta

    def _breaks(self, now: float) -> list[Event]:
        gone, events = self._table.gone, list[Event]()
        for collection, one in gone.items():
            if self._gone.get(collection) != one:
                age = round(now - one.since, 1)
                events.append(("gone", {"collection": collection, "since": age, "why": one.why, "isAway": one.is_away}))
        events += [("back", {"collection": collection}) for collection in self._gone if collection not in gone]
        self._gone = dict(gone)
        return events
