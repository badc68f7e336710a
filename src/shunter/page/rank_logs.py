"""What the logs of a job's ranks tell, read again and again: each time only what was written since."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing

from shunter.api.meta import Json
from shunter.jobs.logs.metrics import LogReader
from shunter.jobs.logs.progress import logged_progress
from shunter.jobs.logs.reading import CONCURRENT_LOGS
from shunter.jobs.metrics import Series
from shunter.jobs.training_pods import ranks, training_container, training_pods
from shunter.kube.client import Client
from shunter.kube.errors import BadRequest, NotFound
from shunter.kube.pods.log_lines import text_lines
from shunter.kube.pods.log_times import split_time, time_key
from shunter.operator.overview import member
from shunter.operator.training_progress import Progress

MOST_RANKS = 64
"""Whose logs are read; of more those of the lowest ranks."""
FIRST_LINES = 20_000
"""Of the lowest rank, whose curve is drawn as far back as that goes."""
OTHER_LINES = 500
PROGRESS_LINES = 200
LIMIT_BYTES = 4 * 1024 * 1024
"""Of one log at a time."""
LONGEST_LINE = 20_000
_PAUSE_LINES = 200


class RankLogs:
    """The logs of one job. `read` may be called again at any time, one call after another."""

    def __init__(self) -> None:
        self._logs: dict[str, _RankLog] = {}

    async def read(self, client: Client, job: Json, pods: Sequence[Json]) -> Mapping[int, Sequence[Series]]:
        """The series of each rank, by rank; `pods` are the job's own. Raises ApiError where the cluster refuses."""
        ranked = training_pods(job, pods)
        chosen = sorted(zip(ranks(job, ranked), ranked, strict=True), key=lambda pair: pair[0])[:MOST_RANKS]
        free = asyncio.Semaphore(CONCURRENT_LOGS)

        async def one(position: int, rank: int, pod: Json) -> tuple[int, Sequence[Series]]:
            uid = pod["metadata"]["uid"]
            log = self._logs.get(uid)
            if log is None:
                log = self._logs[uid] = _RankLog(member(job, pod).label, rank, FIRST_LINES if position == 0 else OTHER_LINES)
            async with free:
                await log.read(client, pod)
            return rank, log.series

        found = await asyncio.gather(*(one(position, rank, pod) for position, (rank, pod) in enumerate(chosen)))
        self._forget({pod["metadata"]["uid"] for _, pod in chosen})
        return dict(found)

    @property
    def progress(self) -> Progress | None:
        """How far the training is by the log of the lowest rank that says anything of it."""
        for log in self._logs.values():
            if (found := logged_progress(log.last_lines)) is not None:
                return found
        return None

    def _forget(self, uids: Collection[str]) -> None:
        self._logs = {uid: log for uid, log in self._logs.items() if uid in uids}


class _RankLog:
    """That of one pod, as far as it was read."""

    def __init__(self, label: str, rank: int, lines: int) -> None:
        self._reader = LogReader(label, rank, ())
        self._lines = lines
        self._last = ""
        self._of_that_time = 0
        """Lines of that time that were read."""
        self.last_lines: deque[str] = deque(maxlen=PROGRESS_LINES)

    @property
    def series(self) -> Sequence[Series]:
        return self._reader.told().series

    async def read(self, client: Client, pod: Json) -> None:
        """Reads on; nothing where there is no log yet, or any more."""
        known, repeated = time_key(self._last), 0
        chunks = client.logs(
            pod["metadata"]["name"],
            pod["metadata"]["namespace"],
            container=training_container(pod),
            timestamps=True,
            limit_bytes=LIMIT_BYTES,
            tail_lines=None if self._last else self._lines,
            since_time=self._last,
        )
        number, is_behind = 0, self._of_that_time
        try:
            async with aclosing(chunks):
                async for line in text_lines(chunks, LONGEST_LINE):
                    number += 1
                    if number % _PAUSE_LINES == 0:
                        await asyncio.sleep(0)
                    stamp, _ = split_time(line)
                    key = time_key(stamp)
                    if key is None or (known is not None and key < known):
                        continue
                    if key == known and repeated < is_behind:
                        repeated += 1
                        continue
                    self._of_that_time = self._of_that_time + 1 if stamp == self._last else 1
                    self._last = stamp
                    self._reader.read(line)
                    self.last_lines.append(line)
        except (NotFound, BadRequest):
            return
