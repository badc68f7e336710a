"""What the pods of a Job add up to: the numbers every other rule looks at."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shunter.api.batch import Job, UncountedTerminatedPods
from shunter.api.core import Pod
from shunter.cluster.controllers.job import pod_failure_policy
from shunter.cluster.controllers.job.backoff import finished_at
from shunter.cluster.controllers.job.indexes import Indexes
from shunter.cluster.controllers.job.pods import (
    all_index_failures,
    completion_index,
    counted_index,
    index_failures,
    is_failed,
    is_terminating,
    is_tracked,
)


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """A Job and its pods, counted. `succeeded` and `failed` count what the status counted, what it holds as uncounted, and
    the pods that ended since."""

    job: Job
    pods: tuple[Pod, ...]
    active: tuple[Pod, ...]
    terminating: int
    ready: int
    succeeded: int
    failed: int
    succeeded_indexes: Indexes
    failed_indexes: Indexes | None
    """None unless the Job has a backoffLimitPerIndex."""
    awaiting_replacement: dict[int, Pod]
    """With backoffLimitPerIndex: the last failed pod of each index that has no other. It keeps its finalizer until its
    replacement carries on its failure count."""

    @classmethod
    def of(cls, job: Job, pods: tuple[Pod, ...], now: datetime) -> Tally:
        """Counts `pods`, which have to be the Job's own. Indexes are those of an Indexed Job; failed ones are None without
        backoffLimitPerIndex."""
        active = tuple(pod for pod in pods if pod.is_active)
        succeeded_indexes = Indexes()
        failed_indexes: Indexes | None = None
        awaiting: dict[int, Pod] = {}
        if job.is_indexed:
            succeeded_indexes = _succeeded_indexes(job, pods)
            if job.spec.backoff_limit_per_index is not None:
                failed_indexes = _failed_indexes(job, pods)
                awaiting = _awaiting_replacement(job, pods, active, succeeded_indexes | failed_indexes, now)
        uncounted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
        succeeded = _newly(job, pods, uncounted.succeeded, succeeded=True)
        failed = _newly(job, pods, uncounted.failed, succeeded=False)
        counted = sum(pod_failure_policy.match(job, pod).counts for pod in failed)
        return cls(
            job=job,
            pods=pods,
            active=active,
            terminating=sum(is_terminating(pod) for pod in pods),
            ready=sum(pod.is_ready for pod in active),
            succeeded=succeeded_indexes.total
            if job.is_indexed
            else job.status.succeeded + len(uncounted.succeeded) + len(succeeded),
            failed=job.status.failed + len(uncounted.failed) + counted,
            succeeded_indexes=succeeded_indexes,
            failed_indexes=failed_indexes,
            awaiting_replacement=awaiting,
        )


def _newly(job: Job, pods: Iterable[Pod], uncounted: tuple[str, ...], *, succeeded: bool) -> list[Pod]:
    """Pods that ended and that the status knows nothing of."""
    known = set(uncounted)
    return [
        pod
        for pod in pods
        if is_tracked(pod)
        and pod.metadata.uid not in known
        and (pod.status.phase == "Succeeded" if succeeded else is_failed(pod, job))
        and (not job.is_indexed or counted_index(pod, job) is not None)
    ]


def _succeeded_indexes(job: Job, pods: Iterable[Pod]) -> Indexes:
    before = Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
    return before | Indexes.of(
        index
        for pod in pods
        if pod.status.phase == "Succeeded" and is_tracked(pod) and (index := counted_index(pod, job)) is not None
    )


def _failed_indexes(job: Job, pods: Iterable[Pod]) -> Indexes:
    before = Indexes.parse(job.status.failed_indexes or "", job.spec.completions or 0)
    return before | Indexes.of(
        index for pod in pods if is_tracked(pod) and (index := counted_index(pod, job)) is not None and _fails_its_index(job, pod)
    )


def _fails_its_index(job: Job, pod: Pod) -> bool:
    if not is_failed(pod, job):
        return False
    match = pod_failure_policy.match(job, pod)
    if match.action == "FailIndex":
        return True
    limit = job.spec.backoff_limit_per_index
    return match.counts and limit is not None and index_failures(pod) >= limit


def _awaiting_replacement(
    job: Job, pods: Iterable[Pod], active: Iterable[Pod], settled: Indexes, now: datetime
) -> dict[int, Pod]:
    served = {completion_index(pod) for pod in active}
    latest: dict[int, Pod] = {}
    for pod in pods:
        index = counted_index(pod, job)
        if index is None or not is_tracked(pod) or not is_failed(pod, job) or index in settled or index in served:
            continue
        other = latest.get(index)
        if other is None or _seniority(pod, now) >= _seniority(other, now):
            latest[index] = pod
    return latest


def _seniority(pod: Pod, now: datetime) -> tuple[int, datetime]:
    return all_index_failures(pod), finished_at(pod, now)
