"""The queue between events and workers, with client-go's guarantees.

A key is in the queue at most once. While one worker has a key no other gets it; what is added meanwhile comes back when the first
is done. Namespaces take turns, so that ten thousand jobs of one team do not delay the one job of another; and none has all
workers, so that another need not wait either until one of its large jobs is through. A postponed key lets all others go first,
those too that follow within `LULL_SECONDS`, for `POSTPONED_SECONDS` at most.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Protocol

from shunter.kube.controllers.fair_queue import FairQueue
from shunter.kube.controllers.plan import Key

POSTPONED_SECONDS = 5.0
"""After this a postponed key goes before all others."""
LULL_SECONDS = 0.1
"""In a burst the queue is empty now and then, for moments. It is over when no key was postponed for so long."""


class QueueMetrics(Protocol):
    """Metrics of a queue; times are seconds."""

    def added(self) -> None:
        """Called for a key that was not yet due to be reconciled; to add it once more is not counted."""

    def dequeued(self, waited: float) -> None:
        """`waited`: seconds since the key was added, or since the first worker started if that was later."""

    def finished(self, worked: float) -> None:
        """`worked` is how long a worker had the key, whatever came of it."""

    def retried(self) -> None:
        """Called for a key that failed, when its time to come back is set."""


class WorkQueue:
    """Keys to reconcile. Failed ones come back after `first_wait` seconds, doubled each time up to `longest_wait`. Of one
    namespace no more than `max_per_namespace` keys are with workers at once; None: any number."""

    def __init__(
        self,
        *,
        first_wait: float = 0.005,
        longest_wait: float = 60.0,
        max_per_namespace: int | None = None,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._max_per_namespace = max_per_namespace
        self._metrics = metrics
        self._ready: FairQueue[Key] = FairQueue()
        """Keys that wait for a worker, by namespace."""
        self._ready_later: FairQueue[Key] = FairQueue()
        """Postponed keys that wait for a worker."""
        self._postponed: dict[Key, float] = {}
        """Postponed keys, and since when; the oldest first."""
        self._last_postponed = -LULL_SECONDS
        self._dirty: dict[Key, float] = {}
        """Keys that must be reconciled, and since when."""
        self._processing: dict[Key, float] = {}
        """Keys that a worker has, and since when."""
        self._worked_on: Counter[str] = Counter()
        """How many those are, by namespace."""
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wakeup = asyncio.Event()
        """Set when there may be a key to take, or the queue is closed."""
        self._served_since: float | None = None
        """When the first worker asked for a key. Before, in a replica that does not lead, keys gather but nothing is late."""
        self._closed = False

    def __len__(self) -> int:
        return len(self._ready) + len(self._ready_later)

    def add(self, key: Key) -> None:
        """Adds the key to the queue, unless it is queued already; a key that a worker has is queued again afterwards."""
        if self._closed or key in self._dirty:
            return
        self._dirty[key] = time.monotonic()
        if key not in self._processing:
            self._enqueue(key)
        if self._metrics:
            self._metrics.added()

    def postpone(self, key: Key) -> None:
        """Has a key that a worker has reconciled again when the burst is over, or in `POSTPONED_SECONDS`. Adding it does
        not bring it forward."""
        if not self._closed:
            self._last_postponed = time.monotonic()
            self._postponed.setdefault(key, self._last_postponed)
            self.add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Has the key reconciled in `seconds` at the latest; a later appointment gives way to an earlier one."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._due, key)

    def add_rate_limited(self, key: Key) -> None:
        """Has the key reconciled again after a failure, later each time until `forget`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        if self._metrics:
            self._metrics.retried()
        self.add_after(key, min(self._first_wait * 2.0 ** min(failures, 60), self._longest_wait))

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure is its first."""
        self._failures.pop(key, None)

    def failures(self, key: Key) -> int:
        """How often the key failed since it last succeeded."""
        return self._failures.get(key, 0)

    async def get(self) -> Key | None:
        """The next key, to be given back by `done`; None once the queue is closed."""
        if self._served_since is None:
            self._served_since = time.monotonic()
        while (lane := self._next_lane(now := time.monotonic())) is None and not self._closed:
            self._wakeup.clear()
            await self._woken(self._last_postponed + LULL_SECONDS - now if self._ready_later.has_next else None)
        if lane is None or self._closed:
            return None
        namespace, key = lane.take()
        self._postponed.pop(key, None)
        self._worked_on[namespace] += 1
        if namespace and self._worked_on[namespace] == self._max_per_namespace:
            for lane in self._lanes:
                lane.hold(namespace)
        self._processing[key] = now
        waited = now - max(self._dirty.pop(key), self._served_since)
        if self._metrics:
            self._metrics.dequeued(waited)
        return key

    def done(self, key: Key) -> None:
        """The worker is through with the key, whatever came of it."""
        started = self._processing.pop(key)
        self._worked_on[key.namespace] -= 1
        if not self._worked_on[key.namespace]:
            del self._worked_on[key.namespace]
        for lane in self._lanes:
            lane.release(key.namespace)
        self._wakeup.set()
        if self._metrics:
            self._metrics.finished(time.monotonic() - started)
        if key in self._dirty and not self._closed:
            self._enqueue(key)

    def oldest_work(self) -> tuple[float, float]:
        """Seconds that the keys now with workers have been there: all together, and the longest."""
        now = time.monotonic()
        ages = [now - started for started in self._processing.values()]
        return sum(ages), max(ages, default=0.0)

    def waiting(self) -> int:
        """How many keys wait for a worker; 0 while no worker serves the queue."""
        return len(self) if self._is_served else 0

    @property
    def is_busy(self) -> bool:
        """Whether keys wait for a worker that are not postponed."""
        return bool(self._ready)

    @property
    def is_in_burst(self) -> bool:
        """Whether what needs no haste should wait: others wait for a worker, or did until just now."""
        return self.is_busy or self.has_postponed

    @property
    def has_postponed(self) -> bool:
        """Whether postponed keys wait."""
        return bool(self._postponed)

    def oldest_waiting(self) -> float:
        """Seconds that the oldest key that is to be reconciled waits for a worker; 0 where none waits, and while no worker serves
        the queue."""
        if self._served_since is None or not self._is_served:
            return 0.0
        since = min((added for key, added in self._dirty.items() if key not in self._processing), default=None)
        return 0.0 if since is None else time.monotonic() - max(since, self._served_since)

    def close(self) -> None:
        """Hands out no key any more; workers that wait get None."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._wakeup.set()

    @property
    def _is_served(self) -> bool:
        return self._served_since is not None and not self._closed

    @property
    def _lanes(self) -> tuple[FairQueue[Key], FairQueue[Key]]:
        return self._ready, self._ready_later

    def _next_lane(self, now: float) -> FairQueue[Key] | None:
        """The lane whose turn it is; None where none has a key to give yet."""
        oldest = next(iter(self._postponed.values()), now)
        is_late = now - oldest >= POSTPONED_SECONDS
        is_over = not self._ready.has_next and now - self._last_postponed >= LULL_SECONDS
        if self._ready_later.has_next and (is_late or is_over):
            return self._ready_later
        return self._ready if self._ready.has_next else None

    async def _woken(self, seconds: float | None) -> None:
        """Returns when there may be a key to take, or in so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wakeup.wait()

    def _enqueue(self, key: Key) -> None:
        lane = self._ready_later if key in self._postponed else self._ready
        lane.add(key.namespace, key)
        self._wakeup.set()

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)
