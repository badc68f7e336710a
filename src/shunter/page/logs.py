"""Logs of chosen ranks of one job: as frames for the page (`frames`), and complete as a file (`whole_log`).

When a job is followed, new lines that come faster than frames can carry them are skipped; for lines written before, and when logs
are read once, reading waits instead. At most `LONGEST_BYTES` of a line are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from shunter.api.core import container_statuses
from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import PODS, Resource
from shunter.cancelling import cancelled
from shunter.jobs.following.log_prefix import log_prefix
from shunter.jobs.logs.visible_text import LONGEST, visible
from shunter.jobs.lookup import pods_of
from shunter.jobs.training_pods import is_added_without_failure
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, BadRequest, NotFound
from shunter.kube.pods.log_reading import LogPart, followed_lines, log_lines
from shunter.kube.pods.log_times import split_time, time_of
from shunter.kube.watching import follow
from shunter.operator.overview import is_finished, is_pod_of, pod_selector
from shunter.operator.pod_places import Place, Places, Ranks
from shunter.page.calls import LogQuery
from shunter.page.log_buffer import FRAMES_A_SECOND, LogBuffer, Source
from shunter.page.wire import LogLines

LONGEST_BYTES = 4 * LONGEST + 64
"""How much of a line is read, with the time before it: a character of UTF-8 has at most four bytes."""
MOST_LINES = 5_000
"""How many of the last lines are read of all containers together, unless `since` or `find` selects them."""
LEAST_LINES = 100
"""The same for each container, at least."""
MOST_CONTAINERS = 32
"""How many containers' logs are read at once."""
BEAT_SECONDS = 15.0
"""An empty frame is sent after so long without another."""
_PAUSE_LINES = 200
"""After so many lines of one container the event loop runs other tasks."""


def frames(client: Client, resource: Resource, job: Json, request: LogQuery) -> AsyncGenerator[LogLines]:
    """Yields the lines, limited in rate (`log_buffer`). Ends when all logs have been read or, with `follow`, the job has
    ended."""
    return _Reading(client, resource, job, request).frames()


async def whole_log(client: Client, job: Json, chosen: frozenset[int]) -> AsyncGenerator[bytes]:
    """Yields the logs of the chosen ranks (empty: all) unchanged, one container after another, in chunks. With several
    containers, each line begins with a prefix such as `[worker-1] `."""
    containers = list(_Runs(job, chosen).of(await pods_of(client, job)))
    for one in containers:
        begin = f"[{one.source.label}] ".encode() if len(containers) > 1 else b""
        is_new_line = True
        try:
            async with aclosing(
                client.logs(one.name, one.namespace, container=one.container, previous=one.is_previous)
            ) as chunks:
                async for chunk in chunks:
                    if not chunk:
                        continue
                    ends = chunk.endswith(b"\n")
                    text = (chunk[:-1] if ends else chunk).replace(b"\n", b"\n" + begin)
                    yield (begin if is_new_line else b"") + text + (b"\n" if ends else b"")
                    is_new_line = ends
        except (NotFound, BadRequest):
            continue  # The container has not started, or its log was deleted.
        except ApiError as error:
            yield f"[{one.source.label}] the log could not be read: {visible(error.message)}\n".encode()
            continue
        if not is_new_line:
            yield b"\n"


class _Container(NamedTuple):
    """One run of a container, which has started."""

    pod: Json
    container: str
    restarts: int
    is_previous: bool
    source: Source

    @property
    def key(self) -> tuple[str, str, int]:
        return self.pod["metadata"]["uid"], self.container, self.restarts

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])


class _Runs:
    """The container runs of one job's pods. A pod is worked out when it changes, and the ranks of all pods only when one is added
    or removed: a job may have a thousand."""

    def __init__(self, job: Json, chosen: frozenset[int]) -> None:
        self._chosen = chosen
        self._places = Places(job)
        self._place_of: dict[str, Place] = {}
        self._ranks: Ranks | None = None
        """None if the pods have to be numbered again."""

    def put(self, pod: Json) -> None:
        """Adds a pod, or replaces it after a change."""
        uid, place = pod["metadata"]["uid"], self._places.of(pod)
        if self._place_of.get(uid) != place:
            self._place_of[uid], self._ranks = place, None

    def remove(self, uid: str) -> None:
        """Removes a deleted pod. The place of an initializer stays, as it determines which ranks are counted."""
        place = self._place_of.get(uid)
        if place is not None and place.trains:
            del self._place_of[uid]
            self._ranks = None

    def of(self, pods: Sequence[Json]) -> Iterator[_Container]:
        """The container runs of these pods, by rank."""
        for pod in pods:
            self.put(pod)
        for pod in sorted(pods, key=self._order):
            yield from self.of_one(pod)

    def of_one(self, pod: Json) -> Iterator[_Container]:
        """The container runs of one pod, passed to `put` before; of a restarted container, the previous run first. The operator's
        own containers are left out unless they failed."""
        for one in container_statuses(pod):
            state, name, restarts = one.get("state") or {}, one["name"], int(one.get("restartCount", 0))
            has_run, runs = "terminated" in (one.get("lastState") or {}), "running" in state or "terminated" in state
            if is_added_without_failure(one) or not (has_run or runs) or (self._chosen and self._rank(pod) not in self._chosen):
                continue
            source = Source(self._rank(pod), log_prefix(self._place_of[pod["metadata"]["uid"]], name)[1:-1])
            if has_run:
                yield _Container(pod, name, restarts - 1, True, source)
            if runs:
                yield _Container(pod, name, restarts, False, source)

    def _order(self, pod: Json) -> tuple[bool, int, str]:
        rank = self._rank(pod)
        return rank is None, rank or 0, str(pod["metadata"].get("creationTimestamp", ""))

    def _rank(self, pod: Json) -> int | None:
        if self._ranks is None:
            self._ranks = Ranks(self._places.initializers, self._place_of.values())
        return self._ranks.of(self._place_of[pod["metadata"]["uid"]])


class _Reading:
    """Reads the containers of one job into one buffer."""

    def __init__(self, client: Client, resource: Resource, job: Json, request: LogQuery) -> None:
        self._client = client
        self._resource = resource
        self._job = job
        self._request = request
        self._runs = _Runs(job, request.ranks)
        self._buffer = LogBuffer(request.find)
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._free = asyncio.Semaphore(MOST_CONTAINERS)
        self._started: set[tuple[str, str, int]] = set()
        """Keys of the runs that are read, or were left out."""
        self._notes: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def frames(self) -> AsyncGenerator[LogLines]:
        reading = asyncio.create_task(self._read_all())
        reading.add_done_callback(lambda _: self._changed.set())
        beat = time.monotonic() + BEAT_SECONDS
        try:
            while True:
                self._room.set()
                is_over = reading.done()
                frame, notes = self._buffer.frame(), tuple(self._notes)
                if frame is not None or notes:
                    self._notes.clear()
                    shown = frame or LogLines(lines=())
                    yield LogLines(lines=shown.lines, skipped=shown.skipped, notes=notes)
                    beat = time.monotonic() + BEAT_SECONDS
                    await asyncio.sleep(1 / FRAMES_A_SECOND)
                    continue
                if is_over:
                    reading.result()
                    return
                if time.monotonic() >= beat:
                    # Writing notices a client that has disconnected, and a client without events reconnects. Lines that come do
                    # not count: they may all lack the text to find.
                    yield LogLines(lines=())
                    beat = time.monotonic() + BEAT_SECONDS
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(beat - time.monotonic()):
                        await self._changed.wait()
                    await asyncio.sleep(1 / FRAMES_A_SECOND)
        finally:
            await cancelled([reading, *self._tasks])

    async def _read_all(self) -> None:
        found = list(self._runs.of(await pods_of(self._client, self._job)))
        if not found and not self._request.follow:
            self._notes.append("No container has started, or the logs were deleted with the pods.")
        limit = MOST_CONTAINERS if self._request.follow else len(found)
        if len(found) > limit:
            self._notes.append(
                f"{count(len(found) - limit, 'container')} of {len(found)} not followed: choose at most {limit} ranks."
            )
        for one in found[:limit]:
            self._begin(one, max(LEAST_LINES, MOST_LINES // len(found)))
        if not self._request.follow or is_finished(self._job):
            await self._drained()
            return
        self._started |= {one.key for one in found}
        watching = [self._start(self._watch_pods())]
        await self._until_finished()
        for task in watching:
            task.cancel()
            self._tasks.discard(task)
        await self._drained()

    async def _drained(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, one: _Container, most: int | None) -> None:
        self._started.add(one.key)
        self._start(self._read(one, most))

    def _start(self, part: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(part)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._notes.append(visible(error.message if isinstance(error, ApiError) else f"{type(error).__name__}: {error}"))
        self._changed.set()

    async def _read(self, one: _Container, most: int | None) -> None:
        """Reads one run from its last `most` lines on; from the beginning if that is None, or the request has `find`; from
        `since` if the request has it."""
        since, find = self._request.since, self._request.find
        tail, begun = None if since or find else most, self._client.now()
        part = LogPart(previous=one.is_previous, timestamps=True, tail_lines=tail, since_seconds=since or None)
        if one.is_previous and since:
            return
        waits = one.is_previous or not self._request.follow
        async with self._free:
            read = log_lines if waits else followed_lines
            lines = read(self._client, one.pod, one.container, part, LONGEST_BYTES)
            with contextlib.suppress(NotFound, BadRequest):
                number, is_old = 0, True
                async for line in lines:
                    number += 1
                    is_old = is_old and not _was_written_after(line, begun)
                    # Nor are lines skipped that are there already: they may be all that a rank that hangs has written.
                    if (waits or is_old) and self._buffer.is_full:
                        await self._has_room()
                    if number == tail and is_old:
                        each = " of each log" if tail < MOST_LINES else ""
                        self._notes.append(f"Only the last {tail:,} lines{each} are shown. Download contains the whole log.")
                    self._buffer.add(one.source, line)
                    self._changed.set()
                    if number % _PAUSE_LINES == 0:
                        await asyncio.sleep(0)

    async def _has_room(self) -> None:
        while self._buffer.is_full:
            self._room.clear()
            await self._room.wait()

    async def _watch_pods(self) -> None:
        """Reads the logs of containers that start from now on, from the beginning."""
        selector = pod_selector(self._job)
        async for change in follow(self._client, PODS, self._namespace, label_selector=selector, keeps_objects=False):
            if change.gone:
                self._runs.remove(change.object["metadata"]["uid"])
                continue
            if not is_pod_of(self._job, change.object):
                continue
            self._runs.put(change.object)
            for one in self._runs.of_one(change.object):
                if one.key in self._started:
                    continue
                if len(self._tasks) <= MOST_CONTAINERS:
                    self._begin(one, None)
                else:
                    self._started.add(one.key)
                    self._notes.append(f"{one.source.label} is not followed: choose at most {MOST_CONTAINERS} ranks.")
                    self._changed.set()

    async def _until_finished(self) -> None:
        metadata = self._job["metadata"]
        named = f"metadata.name={metadata['name']}"
        changes = follow(self._client, self._resource, self._namespace, field_selector=named, initial=[self._job])
        async with aclosing(changes):
            async for change in changes:
                is_this = change.object["metadata"]["uid"] == metadata["uid"]
                if not is_this or change.gone or is_finished(change.object):
                    return

    @property
    def _namespace(self) -> str:
        return str(self._job["metadata"]["namespace"])


def _was_written_after(line: str, time: datetime) -> bool:
    """Whether the time before a line is after this one; False for a line without a time."""
    at = time_of(split_time(line)[0])
    return at is not None and at > time
