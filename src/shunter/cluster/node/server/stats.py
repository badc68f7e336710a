"""/stats/summary in kubelet's form: what the node and its containers use, rates over the time since an earlier look.

Nothing is measured without requests. The first request waits a second for a rate.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from shunter.api.meta import Json, rfc3339
from shunter.cluster.node.server.usage import Usage, machine_usage, processes, usages

SHORTEST_WINDOW = 1.0
"""Seconds a rate is at least taken over; shorter ones say little at 100 ticks a second."""
GOOD_WINDOW = 5.0
LONGEST_WINDOW = 90.0
_MACHINE = 0
_NANO = 10**9


class MeasuredContainer(NamedTuple):
    """A running container: the process that all of its own are below, and when it started (seconds since the epoch)."""

    namespace: str
    pod: str
    uid: str
    container: str
    root: int
    started_at: float


class UsageSample(NamedTuple):
    """What was used up to one moment, by root process."""

    moment: float
    used: dict[int, Usage]


class Rate(NamedTuple):
    """Cores on average over `window` seconds, and seconds in all; bytes now."""

    cores: float
    seconds: float
    memory: int
    window: float


class Stats:
    """Looks when asked. `containers` says what runs now."""

    def __init__(
        self,
        node: str,
        containers: Callable[[], Iterable[MeasuredContainer]],
        *,
        look: Callable[[Iterable[int]], dict[int, Usage]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._containers = containers
        self._look = look or _used
        self._clock = clock
        self._looks: deque[UsageSample] = deque()
        self._asking = asyncio.Lock()

    async def summary(self) -> Json:
        """The document. Containers that started less than a second ago are left out."""
        async with self._asking:
            running = list(self._containers())
            now = await self._take(running)
            if any(rate(now, self._looks, root) is None for root in now.used):
                await asyncio.sleep(SHORTEST_WINDOW)
                now = await self._take(running)
            rates = {root: found for root in now.used if (found := rate(now, self._looks, root)) is not None}
        return document(self._node, running, rates, datetime.now(UTC))

    async def _take(self, running: list[MeasuredContainer]) -> UsageSample:
        used = await asyncio.to_thread(self._look, [one.root for one in running])
        look = UsageSample(self._clock(), used)
        self._looks.append(look)
        while self._looks[0].moment < look.moment - LONGEST_WINDOW:
            self._looks.popleft()
        return look


def rate(now: UsageSample, looks: Iterable[UsageSample], root: int) -> Rate | None:
    """What a process uses a second: since the newest look that is good, else the oldest there is; None when all are too young."""
    earlier = [look for look in looks if look.moment <= now.moment - SHORTEST_WINDOW and root in look.used]
    if not earlier:
        return None
    good = [look for look in earlier if look.moment <= now.moment - GOOD_WINDOW]
    before = good[-1] if good else earlier[0]
    window = now.moment - before.moment
    used = now.used[root]
    cores = max(0.0, used.seconds - before.used[root].seconds) / window
    return Rate(cores, used.seconds, used.memory, window)


def document(node: str, running: Iterable[MeasuredContainer], rates: dict[int, Rate], now: datetime) -> Json:
    """The summary, in kubelet's field names; `windowSeconds` is ours."""
    pods: dict[str, Json] = {}
    for one in running:
        found = rates.get(one.root)
        if found is None:
            continue
        reference = {"name": one.pod, "namespace": one.namespace, "uid": one.uid}
        pod = pods.setdefault(one.uid, {"podRef": reference, "containers": []})
        started = rfc3339(datetime.fromtimestamp(one.started_at, UTC))
        pod["containers"].append({"name": one.container, "startTime": started, **_shown(found, now)})
    whole = rates.get(_MACHINE)
    return {"node": {"nodeName": node, **(_shown(whole, now) if whole else {})}, "pods": list(pods.values())}


def _shown(found: Rate, now: datetime) -> Json:
    moment = rfc3339(now)
    return {
        "cpu": {
            "time": moment,
            "usageNanoCores": round(found.cores * _NANO),
            "usageCoreNanoSeconds": round(found.seconds * _NANO),
            "windowSeconds": round(found.window, 3),
        },
        "memory": {"time": moment, "workingSetBytes": found.memory},
    }


def _used(roots: Iterable[int]) -> dict[int, Usage]:
    return {**usages(roots, processes()), _MACHINE: machine_usage()}
