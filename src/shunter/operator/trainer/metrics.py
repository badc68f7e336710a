"""Counters of TrainJobs. Upstream has none; the prefix is the one that it wishes for.

Counted when a change of a job's status arrives, so nothing is counted twice: neither after a conflict nor after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram

from shunter.api.meta import condition_of, true_condition
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.status import COMPLETE, FAILED, SUSPENDED
from shunter.operator.trainer.views import LiveJobSet

_SECONDS = [0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0]


class TrainJobMetrics:
    """`now` is the clock that waiting is measured by."""

    def __init__(self, registry: CollectorRegistry, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._have_run: set[str] = set()
        """The uids of jobs that ran once, while they are there: pods that come back are not the beginning."""
        self._created = Counter("kubeflow_trainer_jobs_created", "Jobs met for the first time", ["namespace"], registry=registry)
        self._outcomes = {
            COMPLETE: Counter(
                "kubeflow_trainer_jobs_completed", "Jobs that completed", ["namespace", "reason"], registry=registry
            ),
            FAILED: Counter("kubeflow_trainer_jobs_failed", "Jobs that failed", ["namespace", "reason"], registry=registry),
            SUSPENDED: Counter("kubeflow_trainer_jobs_suspended", "Jobs held back", ["namespace", "reason"], registry=registry),
        }
        self._restarts = Counter("kubeflow_trainer_job_restarts", "Restarts of whole jobs", ["namespace"], registry=registry)
        self._until_running = Histogram(
            "kubeflow_trainer_job_time_to_running_seconds",
            "From the creation of a job that was never held back until all its pods of one kind were ready",
            buckets=_SECONDS,
            registry=registry,
        )

    def job_changed(self, old: TrainJob | None, new: TrainJob | None) -> None:
        """An informer's handler."""
        if new is None:
            self._have_run.discard(old.metadata.uid if old else "")
            return
        is_first_run = any(counted.ready for counted in new.status.jobs_status) and new.metadata.uid not in self._have_run
        if is_first_run:
            self._have_run.add(new.metadata.uid)
        namespace = new.metadata.namespace
        if old is None:
            if not new.status.conditions and not new.status.jobs_status:
                self._created.labels(namespace).inc()
            return
        for type, counter in self._outcomes.items():
            condition = true_condition(new.status.conditions, type)
            if condition is not None and true_condition(old.status.conditions, type) is None:
                counter.labels(namespace, condition.reason).inc()
        created = new.metadata.creation_timestamp
        if is_first_run and created is not None and condition_of(new.status.conditions, SUSPENDED) is None:
            self._until_running.observe((self._now() - created).total_seconds())

    def jobset_changed(self, old: LiveJobSet | None, new: LiveJobSet | None) -> None:
        """An informer's handler."""
        if old is None or new is None or old.metadata.uid != new.metadata.uid:
            return
        more = new.status.restarts - old.status.restarts
        if more > 0:
            self._restarts.labels(new.metadata.namespace).inc(more)
