"""The queue between events and workers, with client-go's guarantees.

A key is in the queue at most once. While one worker has a key no other gets it; what is added meanwhile comes back when the first
is done. Namespaces take turns, so that ten thousand jobs of one team do not delay the one job of another.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from typing import Protocol

from shunter.kube.controllers.plan import Key


class QueueMetrics(Protocol):
    """What is worth counting about a queue; times are seconds."""

    def added(self) -> None: ...

    def taken(self, waited: float) -> None: ...

    def finished(self, worked: float) -> None: ...

    def retried(self) -> None: ...


class WorkQueue:
    """Keys to reconcile. Failed ones come back after `first_wait` seconds, doubled each time up to `longest_wait`."""

    def __init__(self, *, first_wait: float = 0.005, longest_wait: float = 60.0, metrics: QueueMetrics | None = None) -> None:
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._metrics = metrics
        self._ready: OrderedDict[str, deque[Key]] = OrderedDict()
        """Keys that wait for a worker, by namespace; the first namespace's turn is next."""
        self._depth = 0
        self._dirty: dict[Key, float] = {}
        """Keys that must be reconciled, and since when."""
        self._processing: dict[Key, float] = {}
        """Keys that a worker has, and since when."""
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wakeup = asyncio.Semaphore(0)
        self._served_since: float | None = None
        """When the first worker asked for a key. Before, in a replica that does not lead, keys gather but nothing is late."""
        self._closed = False

    def __len__(self) -> int:
        return self._depth

    def add(self, key: Key) -> None:
        """Has the key reconciled soon."""
        if self._closed or key in self._dirty:
            return
        self._dirty[key] = time.monotonic()
        if key not in self._processing:
            self._enqueue(key)
        if self._metrics:
            self._metrics.added()

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
        await self._wakeup.acquire()
        if self._closed:
            self._wakeup.release()
            return None
        namespace, keys = next(iter(self._ready.items()))
        key = keys.popleft()
        if keys:
            self._ready.move_to_end(namespace)
        else:
            del self._ready[namespace]
        self._depth -= 1
        now = time.monotonic()
        self._processing[key] = now
        waited = now - max(self._dirty.pop(key), self._served_since)
        if self._metrics:
            self._metrics.taken(waited)
        return key

    def done(self, key: Key) -> None:
        """The worker is through with the key, whatever came of it."""
        started = self._processing.pop(key)
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
        return self._depth if self._is_served else 0

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
        self._wakeup.release()

    @property
    def _is_served(self) -> bool:
        return self._served_since is not None and not self._closed

    def _enqueue(self, key: Key) -> None:
        self._ready.setdefault(key.namespace, deque()).append(key)
        self._depth += 1
        self._wakeup.release()

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)
