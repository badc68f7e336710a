"""Events: what happened to an object, for people who ask `kubectl describe`. Nothing depends on them.

Recording never waits and never fails: notes go into a bounded queue and one task sends them, one at a time and not faster than
`RATE`, so that the events of many jobs do not hold up the jobs; an event waits up to `BUSY_SECONDS` for busy controllers. They
go in the order in which they were recorded.
Where more wait than go in two minutes, more go at a time. The same note again within minutes counts up the event that is there
instead of making another; one object can flood neither the server nor its own events.
"""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from logging import getLogger
from typing import Literal, NamedTuple

from shunter.api.core import is_shown_to_followers
from shunter.api.meta import Json, rfc3339, rfc3339_micro
from shunter.api.resources import CORE_EVENTS, EVENTS
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Note
from shunter.kube.errors import ApiError, Forbidden, NotFound

log = getLogger(__name__)

SERIES_SECONDS = 360.0
"""A note repeated within this time belongs to the event that is there."""

UPDATE_SECONDS = 5.0
"""The count of one event is sent at most this often."""

BURST = 25
REFILL_SECONDS = 300.0
"""New events of one reason about one object: so many at once, and then one each `REFILL_SECONDS`."""

RATE = 50.0
AT_ONCE = 100
"""New events a second, and how many go at once after a pause. As kubelet's eventRecordQPS and eventBurst."""

QUIET_SECONDS = 0.2
"""From the first note after a pause to its event: what the note is about goes first, above all the start of pods. What `run`
shows goes at once, with what was recorded before it: it reads events once more when the job is over, and leaves."""
BUSY_SECONDS = 10.0
"""Longer than this no event waits for controllers that are busy."""
BUSY_POLL = 0.1

IN_TIME = round(120 * RATE)
"""So many are sent within two minutes, one at a time. For each further so many that wait one more goes at a time."""

LONGEST_MESSAGE = 1024
"""Bytes: the API server refuses longer ones."""
MOST_AT_A_TIME = 16
MAX_WAITING = MOST_AT_A_TIME * IN_TIME
"""What is beyond is dropped. A note takes half a kilobyte of memory."""
MAX_REMEMBERED = 4096

Form = Literal["events.k8s.io/v1", "v1"]
"""Which API events are written to. `v1` is what the v1 training operator used: with count, first and last time."""


@dataclass(slots=True)
class _Series:
    """An event on the server, and how often its note was recorded."""

    note: Note
    name: str
    last: float
    last_seen: datetime
    count: int = 1
    sent_at: float = 0.0


class _Waiting(NamedTuple):
    note: Note
    moment: datetime
    """When it was recorded."""


class EventRecorder:
    """Records notes as one component, e.g. `pytorchjob-controller`; `run` sends them."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        form: Form = "events.k8s.io/v1",
        instance: str = "",
        is_busy: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._component = component
        self._is_busy = is_busy
        self._resource = EVENTS if form == EVENTS.api_version else CORE_EVENTS
        self._instance = instance or f"{component}-{socket.gethostname()}"[:128]
        self._now = now
        self._waiting: deque[_Waiting] = deque()
        self._series: OrderedDict[Note, _Series] = OrderedDict()
        self._outdated: dict[Note, _Series] = {}
        """Events whose count on the server is too low."""
        self._tokens: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        self._wakeup = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._dropped = 0
        self._serial = 0
        self._next_at = -math.inf
        """When `RATE` allows the next event if none had been saved up, on the monotonic clock."""

    def record(self, note: Note) -> None:
        """Takes a note to be sent soon; never waits, never fails."""
        if len(self._waiting) >= MAX_WAITING:
            self._dropped += 1
            return
        self._waiting.append(_Waiting(note, self._now()))
        self._wakeup.set()
        if is_shown_to_followers(note.type, note.reason):
            self._is_urgent.set()

    async def run(self) -> None:
        """Sends notes until cancelled; call `flush` after that."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(UPDATE_SECONDS if self._outdated else None):
                    await self._wakeup.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_SECONDS):
                    await self._is_urgent.wait()
            self._wakeup.clear()
            self._is_urgent.clear()
            await self._send_slowly()
            await self._send_updates(time.monotonic() - UPDATE_SECONDS)

    async def flush(self, timeout: float = 5.0) -> None:
        """Sends what is left, for at most `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._send_quickly()
                await self._send_updates(time.monotonic())
        except TimeoutError:
            log.warning("%d events were not sent: the server is too slow", len(self._waiting))

    async def _send_slowly(self) -> None:
        while self._waiting:
            if self._is_busy() and self._now() - self._waiting[0].moment < timedelta(seconds=BUSY_SECONDS):
                await asyncio.sleep(BUSY_POLL)
            elif await self._send_next(1 + len(self._waiting) // IN_TIME):
                await self._pause()
        self._say_dropped()

    async def _pause(self) -> None:
        """Waits until the next may go."""
        now = time.monotonic()
        self._next_at = max(self._next_at, now - AT_ONCE / RATE) + 1 / RATE
        if self._next_at > now:
            await asyncio.sleep(self._next_at - now)

    async def _send_quickly(self) -> None:
        while self._waiting:
            await self._send_next(MOST_AT_A_TIME)
        self._say_dropped()

    async def _send_next(self, number: int) -> bool:
        """Takes so many notes, `MOST_AT_A_TIME` at most; whether events had to be created for them."""
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), number, MOST_AT_A_TIME))]
        fresh = [series for note, moment in batch if (series := self._count(note, moment))]
        await asyncio.gather(*(self._create(series) for series in fresh))
        return bool(fresh)

    def _say_dropped(self) -> None:
        if self._dropped:
            log.warning("%d events were dropped: there were too many", self._dropped)
            self._dropped = 0

    def _count(self, note: Note, moment: datetime) -> _Series | None:
        """The event to create for a note; None when one is there already, or there are too many."""
        now = time.monotonic()
        series = self._series.get(note)
        if series is not None and now - series.last < SERIES_SECONDS:
            series.count += 1
            series.last = now
            series.last_seen = moment
            self._series.move_to_end(note)
            self._outdated[note] = series
            return None
        if not self._take_token(note, now):
            return None
        self._serial += 1
        name = f"{note.regarding.name[:230]}.{int(moment.timestamp() * 1e6):x}{self._serial % 4096:03x}"
        series = _Series(note, name, last=now, last_seen=moment)
        self._series[note] = series
        if len(self._series) > MAX_REMEMBERED:
            self._series.popitem(last=False)
        return series

    async def _create(self, series: _Series) -> None:
        body = self._event(series) if self._resource is EVENTS else self._core_event(series)
        try:
            await self._client.create(self._resource, body)
        except ApiError as error:
            self._forget(series)
            self._lost(series.note, error)

    async def _send_updates(self, sent_before: float) -> None:
        due = [series for series in self._outdated.values() if series.sent_at <= sent_before]
        for series in due:
            self._outdated.pop(series.note, None)
            await self._send_update(series)

    async def _send_update(self, series: _Series) -> None:
        patch: Json
        if self._resource is EVENTS:
            patch = {"series": {"count": series.count, "lastObservedTime": rfc3339_micro(series.last_seen)}}
        else:
            patch = {"count": series.count, "lastTimestamp": rfc3339(series.last_seen)}
        series.sent_at = time.monotonic()
        try:
            await self._client.patch(self._resource, series.name, _namespace(series.note), patch)
        except NotFound:
            # Events live an hour on the server.
            self._forget(series)
        except ApiError as error:
            self._lost(series.note, error)

    def _forget(self, series: _Series) -> None:
        self._series.pop(series.note, None)
        self._outdated.pop(series.note, None)

    def _take_token(self, note: Note, now: float) -> bool:
        source = (note.regarding.uid or str(note.regarding), note.reason)
        tokens, since = self._tokens.get(source, (float(BURST), now))
        tokens = min(float(BURST), tokens + (now - since) / REFILL_SECONDS)
        allowed = tokens >= 1
        self._tokens[source] = (tokens - 1 if allowed else tokens, now)
        self._tokens.move_to_end(source)
        if len(self._tokens) > MAX_REMEMBERED:
            self._tokens.popitem(last=False)
        return allowed

    def _event(self, series: _Series) -> Json:
        note = series.note
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": series.name, "namespace": _namespace(note)},
            "eventTime": rfc3339_micro(series.last_seen),
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "action": note.action,
            "reason": note.reason,
            "regarding": _reference(note),
            "note": _cut(note.message),
            "type": note.type,
        }

    def _core_event(self, series: _Series) -> Json:
        note = series.note
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": series.name, "namespace": _namespace(note)},
            "involvedObject": _reference(note),
            "reason": note.reason,
            "message": _cut(note.message),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": rfc3339(series.last_seen),
            "lastTimestamp": rfc3339(series.last_seen),
            "count": 1,
            "type": note.type,
        }

    def _lost(self, note: Note, error: ApiError) -> None:
        # An object in a namespace that is being deleted gets no events; that is no fault.
        level = log.debug if isinstance(error, Forbidden | NotFound) and "terminat" in error.message else log.warning
        level("An event about %s %s was not recorded: %s", note.regarding.resource.kind, note.regarding.name, error.message)


def _cut(message: str) -> str:
    return message.encode()[:LONGEST_MESSAGE].decode(errors="ignore")


def _namespace(note: Note) -> str:
    return note.regarding.namespace or "default"


def _reference(note: Note) -> Json:
    ref = note.regarding
    reference = ref.resource.typed({"name": ref.name, "namespace": ref.namespace, "uid": ref.uid})
    return {key: value for key, value in reference.items() if value}
