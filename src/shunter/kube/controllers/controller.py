"""One controller: workers that take keys from a queue and run observe, plan, execute on them.

Level-triggered: a key says that something may have changed, never what. A bug in one object's reconcile is logged with its key,
counted and retried with back-off; it never stops the others. In a burst, what many objects need is made before the statuses and
events that tell so: a plan that allows it is carried out in two reconciles. Outside of bursts a plan may have its status wait for
what it makes to start; that is one reconcile, and the status is of the moment of the plan.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from logging import getLogger
from typing import Generic, Literal, Protocol, TypeVar

from msgspec.structs import replace

from shunter.kube.cache.expectations import Expectations
from shunter.kube.controllers.executor import Executor, concerns_user
from shunter.kube.controllers.plan import Failure, Key, Note, Plan, Reconciler
from shunter.kube.controllers.workqueue import WorkQueue

log = getLogger(__name__)

Observed = TypeVar("Observed")

Result = Literal["success", "error", "requeue", "requeue_after"]

RECHECK = 0.5
"""Seconds after which a key that waits for its own writes is looked at again, should no event of them map to it."""

BUSY_POLL = 0.02
"""Seconds between checks whether another key needs the worker that delays a status."""


class ReconcileMetrics(Protocol):
    """Metrics of reconciles; times are seconds, with those for which a status waited by `status_after`, as
    are the queue's of its work."""

    def reconciled(self, result: Result, seconds: float) -> None:
        """Called after each reconcile; one that failed by a bug is an `error`, too."""

    def panicked(self) -> None:
        """Called when a reconcile failed with an internal error, before its `reconciled`."""


class Controller(Generic[Observed]):
    """Runs one reconciler. `add` is what informers' handlers call."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler[Observed],
        executor: Executor,
        expectations: Expectations,
        *,
        queue: WorkQueue | None = None,
        workers: int = 4,
        metrics: ReconcileMetrics | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self.queue = WorkQueue() if queue is None else queue
        self.workers = workers
        self._reconciler = reconciler
        self._executor = executor
        self._expectations = expectations
        self._metrics = metrics
        self._now = now
        self._events: dict[Key, tuple[Note, ...]] = {}
        """Of plans whose writes are done and whose status waits."""

    def add(self, key: Key) -> None:
        """Has the object of this name reconciled soon."""
        self.queue.add(key)

    async def run(self) -> None:
        """Works until `stop`, and returns when the reconciles in progress have ended."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.workers):
                group.create_task(self._work(), name=f"{self.name}-{number}")
        for key in list(self._events):
            await self._record_events(key)

    def stop(self) -> None:
        """Starts no reconcile any more."""
        self.queue.close()

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                wait = self._expectations.seconds_left(key)
                if wait:
                    self.queue.add_after(key, min(wait, RECHECK))
                else:
                    await self.reconcile(key)
            finally:
                self.queue.done(key)
            # Neither a full queue nor a reconcile that writes nothing ever waits: let watches and the lease have their turn.
            await asyncio.sleep(0)

    async def reconcile(self, key: Key) -> Result:
        """One reconcile of one key, now; it puts the key back into the queue as its result demands."""
        started = time.monotonic()
        try:
            result = await self._reconcile(key)
        except Exception:
            log.exception("%s: internal error while reconciling %s", self.name, key)
            if self._metrics:
                self._metrics.panicked()
            self.queue.add_rate_limited(key)
            result = "error"
        if self._metrics:
            self._metrics.reconciled(result, time.monotonic() - started)
        return result

    async def _reconcile(self, key: Key) -> Result:
        observed = self._reconciler.observe(key)
        postponed = self._events.get(key)
        if observed is None:
            self._expectations.forget(key)
            self.queue.forget(key)
            if postponed is not None:
                await self._record_events(key)
            return "success"
        plan = self._reconciler.plan(observed, self._now())
        waits = plan.may_status_wait and bool(plan.writes) and postponed is None and self.queue.is_in_burst
        events = tuple(dict.fromkeys((*(postponed or ()), *plan.events)))
        executed = Plan(writes=plan.writes) if waits else replace(plan, events=events)
        outcome = await self._executor.execute(executed, self._wait_unless_busy)
        self._expectations.expect(key, outcome.written)
        if outcome.failure is not None:
            return await self._failed(key, observed, outcome.failure)
        self.queue.forget(key)
        if waits:
            self._events[key] = events
            self.queue.postpone(key)
            return "requeue_after"
        self._events.pop(key, None)
        if plan.requeue_after is None:
            return "success"
        self.queue.add_after(key, plan.requeue_after)
        return "requeue_after"

    async def _wait_unless_busy(self, seconds: float) -> None:
        """Returns sooner where another key waits for a worker."""
        for _ in range(math.ceil(seconds / BUSY_POLL)):
            if self.queue.is_busy:
                return
            await asyncio.sleep(BUSY_POLL)

    async def _record_events(self, key: Key) -> None:
        """Records the events of a key whose status will not be written."""
        await self._executor.execute(Plan(events=self._events.pop(key)))

    async def _failed(self, key: Key, observed: Observed, failure: Failure) -> Result:
        self.queue.add_rate_limited(key)
        if failure.reason == "Conflict":
            # Another client wrote first: look again, nothing is wrong.
            log.debug("%s: %s: %s", self.name, key, failure.message)
            return "requeue"
        log.warning("%s: %s: %s: %s", self.name, key, failure.reason or failure.code, failure.message)
        if concerns_user(failure):
            outcome = await self._executor.execute(self._reconciler.plan_failure(observed, failure, self._now()))
            self._expectations.expect(key, outcome.written)
            if outcome.failure is not None and outcome.failure.reason != "Conflict":
                log.warning("%s: %s: the failure could not be recorded: %s", self.name, key, outcome.failure.message)
        return "error"
