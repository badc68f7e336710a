"""The rows of one running view, and for each listener which of them it has not been told. Pure but for waiting.

A listener holds ids, not events: however slow its reader is, what waits for it is bounded by the number of rows, and what it is
told is always the present.
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
    """Something that keeps collections from being up to date."""

    collections: frozenset[str]
    since: float
    """Seconds since 1970."""
    why: str
    is_away: bool
    """The cluster does not answer."""


class Table:
    """Rows by collection and id; what changes is noted for every listener."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Row]] = {}
        self._breaks: dict[Hashable, Break] = {}
        self._hidden: tuple[Hidden, ...] = ()
        self._listeners: set[Listener] = set()
        self.is_complete = False
        """Everything has been read once: until then nothing is sent."""

    @property
    def listeners(self) -> int:
        """How many there are: a view without any may be stopped."""
        return len(self._listeners)

    def listen(self, session: Callable[[], Session]) -> Listener:
        """To be closed. Its first event is a snapshot, once there is one; `session` says what stands in it."""
        listener = Listener(self, session)
        self._listeners.add(listener)
        return listener

    def replace(self, rows: Rows) -> bool:
        """These are all rows now. Whether any of them is another than before."""
        is_news, self.is_complete = not self.is_complete, True
        for collection in {*self._rows, *rows}:
            before = self._rows.get(collection, {})
            after = {row.id: row for row in rows.get(collection, ())}
            changed = [id for id, row in after.items() if (old := before.get(id)) is not row and old != row]
            changed += [id for id in before if id not in after]
            self._rows[collection] = after
            if changed:
                is_news = True
                for listener in self._listeners:
                    listener.note(collection, changed)
        if is_news:
            self._wake()
        return is_news

    def broken(self, cause: Hashable, collections: Iterable[str], since: float, why: str, *, is_away: bool = True) -> None:
        """For this cause the rows of these are as they were at that time (seconds since 1970), or at an earlier one that was
        given before. All else is as given last: a server that shuts down says so before it no longer answers."""
        known = self._breaks.get(cause)
        one = Break(frozenset(collections), min(since, known.since) if known else since, why, is_away)
        if one != known:
            self._breaks[cause] = one
            self._wake()

    def whole(self, cause: Hashable) -> None:
        """This cause has passed; what others have broken is still out of date."""
        if self._breaks.pop(cause, None) is not None:
            self._wake()

    def hide(self, hidden: tuple[Hidden, ...]) -> None:
        """All that is missing on the page."""
        if hidden != self._hidden:
            self._hidden = hidden
            self._wake()

    def restart(self) -> None:
        """What is shown has changed as a whole: each listener gets a snapshot."""
        for listener in self._listeners:
            listener.start_again()

    def end(self, why: str) -> None:
        """The last event of all listeners."""
        for listener in self._listeners:
            listener.end(why)

    def forget(self, listener: Listener) -> None:
        """The listener gets no more events. Not an error for one that is forgotten already."""
        self._listeners.discard(listener)

    @property
    def rows(self) -> Mapping[str, Mapping[str, Row]]:
        """By collection, then by id, in the order of the last `replace`. Not to be changed."""
        return self._rows

    @property
    def gone(self) -> Mapping[str, Break]:
        """Collections that are out of date, with the break that has lasted for longest."""
        breaks = sorted(self._breaks.values(), key=lambda one: one.since, reverse=True)
        return {collection: one for one in breaks for collection in sorted(one.collections)}

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        """What is missing on the page, as `hide` was told it last."""
        return self._hidden

    def _wake(self) -> None:
        for listener in self._listeners:
            listener.wake()


class Listener:
    """What one stream has been told of a table, and what it has not."""

    def __init__(self, table: Table, session: Callable[[], Session]) -> None:
        self._table = table
        self._session = session
        self._changed: dict[str, dict[str, None]] = {}
        self._gone: dict[str, Break] = {}
        self._hidden: tuple[Hidden, ...] = ()
        self._has_snapshot = False
        self._end = ""
        self._news = asyncio.Event()
        self._news.set()

    def note(self, collection: str, ids: Iterable[str]) -> None:
        """Rows with these ids have changed or are gone. While a snapshot is due nothing is kept, as that holds all rows."""
        if self._has_snapshot:
            self._changed.setdefault(collection, {}).update(dict.fromkeys(ids))

    def start_again(self) -> None:
        """The next event is a snapshot; what waits is in it."""
        self._has_snapshot = False
        self._changed.clear()
        self.wake()

    def end(self, why: str) -> None:
        """The next event is the last one and says why; what else waits is not sent."""
        self._end = why
        self.wake()

    def wake(self) -> None:
        """Lets `wait` return, whether there is something to tell or not."""
        self._news.set()

    def close(self) -> None:
        """Must be called by whoever called `Table.listen`: the table keeps the listener until then."""
        self._table.forget(self)

    async def wait(self, seconds: float) -> bool:
        """Whether there may be something to tell, which `take` knows; False after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def take(self, now: float) -> list[Event]:
        """What there is to tell. `now` is seconds since 1970."""
        self._news.clear()
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
                told = {"since": round(now - one.since, 1), "why": one.why, "isAway": one.is_away}
                events.append(("gone", {"collection": collection, **told}))
        events += [("back", {"collection": collection}) for collection in self._gone if collection not in gone]
        self._gone = dict(gone)
        return events
