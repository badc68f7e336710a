"""Reads the logs of a job's ranks: metrics, steps, the last lines."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from shunter.api.formats.counts import joined, noun
from shunter.api.meta import Json
from shunter.jobs.logs.metrics import LONGEST_LINE, LogReader, LogReport, MetricPattern
from shunter.jobs.logs.visible_text import visible_line
from shunter.jobs.training_pods import training_container
from shunter.kube.client import Client
from shunter.kube.errors import BadRequest, NotFound, ServerTimeout
from shunter.kube.pods.log_reading import LogPart, LogPosition, new_lines
from shunter.kube.pods.log_times import split_time

CONCURRENT_LOGS = 8
"""Logs that are read at once, at most: a node that reads one after another, in 3 s each, sends each within
`client.LOG_SECONDS`."""
MOST_LINES = 100_000
"""The most lines of a log that are read at first."""
LONGEST_BYTES = 4 * LONGEST_LINE
"""The most bytes of a line, to limit memory."""
MOST_POINTS = 4000
"""Points of a series that are kept: twice as many as a curve shows."""
KEPT_LINES = 20
"""Last lines of a rank that are kept as text."""


class RankLogs:
    """The logs of some ranks; each `read` continues where the one before ended."""

    def __init__(self, client: Client, *, extra: Sequence[MetricPattern] = (), most_lines: int = MOST_LINES) -> None:
        self._client = client
        self._extra = extra
        self._part = LogPart(tail_lines=most_lines)
        self._free = asyncio.Semaphore(CONCURRENT_LOGS)
        self._logs: dict[int, _RankLog] = {}
        self.silent: set[int] = set()
        """The ranks whose nodes did not respond at the last `read`."""

    async def read(self, pods: Mapping[int, Json], only: Collection[int]) -> None:
        """Reads on in the logs of the ranks in `only`; `pods` are those of the job (`training_pods.pods_by_rank`). A log that
        does not exist (yet, or any more), or does not come, adds nothing. Raises ApiError if logs may not be read."""
        self.silent.clear()
        await asyncio.gather(*(self._read(rank, pods[rank]) for rank in sorted(only) if rank in pods))

    def reports(self) -> dict[int, LogReport]:
        """The reports on what was read so far, by rank."""
        return {rank: log.reader.report() for rank, log in sorted(self._logs.items())}

    def last_lines(self, rank: int) -> list[str]:
        """The newest lines of a rank that were read, the oldest first, as `visible_line`."""
        return list(self._logs[rank].last) if rank in self._logs else []

    async def _read(self, rank: int, pod: Json) -> None:
        log = self._logs.get(rank)
        if log is None:
            reader = LogReader(pod["metadata"]["name"], rank, self._extra, most_points=MOST_POINTS)
            log = self._logs[rank] = _RankLog(reader)
        async with self._free:
            position = log.position_in(pod)
            try:
                async for line in new_lines(self._client, pod, training_container(pod), self._part, position, LONGEST_BYTES):
                    log.reader.read(line)
                    log.last.append(visible_line(split_time(line)[1]))
            except (NotFound, BadRequest):
                return
            except ServerTimeout:
                self.silent.add(rank)


def no_answer(ranks: Collection[int]) -> str:
    """Why the logs of these ranks are not read, whose nodes do not respond: `no answer from the nodes of ranks 1 and 3`; empty
    for none."""
    if not ranks:
        return ""
    names = joined([str(rank) for rank in sorted(ranks)])
    return f"no answer from the {noun(len(ranks), 'node')} of {noun(len(ranks), 'rank')} {names}"


class _RankLog:
    """The log of one rank: if its container restarts or its pod is recreated, a new log begins."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self.last: deque[str] = deque(maxlen=KEPT_LINES)
        self._run: tuple[str, int] = ("", 0)
        self._position = LogPosition()

    def position_in(self, pod: Json) -> LogPosition:
        name = training_container(pod)
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        restarts = next((int(one.get("restartCount", 0)) for one in statuses if one["name"] == name), 0)
        run = (pod["metadata"]["uid"], restarts)
        if run != self._run:
            self._run, self._position = run, LogPosition()
        return self._position
