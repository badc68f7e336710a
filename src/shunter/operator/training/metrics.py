"""The operator's counters of jobs under upstream's names, so that existing dashboards work.

Counted when a change of a job's status arrives, so nothing is counted twice: neither after a conflict nor after a restart.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter

from shunter.api.training.job import JobView

LABELS = ("job_namespace", "framework")


class JobMetrics:
    """`training_operator_jobs_created_total`, and the same for deleted, successful, failed and restarted, in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(event: str, help: str) -> Counter:
            return Counter(f"training_operator_jobs_{event}", help, LABELS, registry=registry)

        self._created = counter("created", "Jobs that the operator met for the first time")
        self._deleted = counter("deleted", "Finished jobs deleted by ttlSecondsAfterFinished")
        self._counters = {
            "Succeeded": counter("successful", "Jobs that succeeded"),
            "Failed": counter("failed", "Jobs that failed"),
            "Restarting": counter("restarted", "Restarts of jobs"),
        }

    def handler(self, framework: str) -> Callable[[JobView | None, JobView | None], None]:
        """An informer's handler for the jobs of one framework."""

        def count(old: JobView | None, new: JobView | None) -> None:
            job = new or old
            assert job is not None
            labels = (job.metadata.namespace, framework)
            if new is None:
                if _went_by_ttl(job):
                    self._deleted.labels(*labels).inc()
            elif old is None:
                if not new.status.conditions:
                    self._created.labels(*labels).inc()
            else:
                for type, counter in self._counters.items():
                    if new.status.is_true(type) and not old.status.is_true(type):
                        counter.labels(*labels).inc()

        return count


def _went_by_ttl(job: JobView) -> bool:
    """Whether a job that is gone was a finished one with a time to live."""
    policy = getattr(getattr(job, "spec", None), "run_policy", None)
    return job.status.is_finished and policy is not None and policy.ttl_seconds_after_finished is not None
