"""What failed in a job's pods, which the status keeps: soon they may be gone.

Apart from `failures`, so that what only needs the pods of a job, such as a conversion, does not import the diagnosis.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.core import Pod
from shunter.operator import rank_failures
from shunter.operator.diagnosis import TOGETHER
from shunter.operator.training.children import Children
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import REPLICA_TYPE, index_of
from shunter.operator.training.progress import Progress


def with_new_failures(job: AnyJob, children: Children, progress: Progress) -> Progress:
    """With the failures of the job's pods in the status, and events about new ones."""
    return _with_new(job, children.pods, progress)


def with_late_failures(job: AnyJob, children: Children, progress: Progress) -> Progress:
    """The progress with late failures recorded, as by `with_new_failures`, for a job that has failed. Pod states arrive in any
    order, so the job may have failed because of a rank that lost its peer before the peer's failure was seen. What ends long
    after the job, or by a deletion, does not count."""
    ended = job.status.completion_time
    if ended is None:
        return progress
    near = [pod for pod in children.pods if rank_failures.has_failed_by(pod, ended + TOGETHER, counts_undated=True)]
    return _with_new(job, near, progress)


def _with_new(job: AnyJob, pods: Sequence[Pod], progress: Progress) -> Progress:
    record, new = rank_failures.recorded(progress.status.rank_failures, pods, lambda pod: _rank(job, pod))
    if not new:
        return progress
    lines = rank_failures.last_lines(job.ref, record, new)
    return progress.with_failures(record, lines).notes(rank_failures.notes(job.ref, new))


def _rank(job: AnyJob, pod: Pod) -> int | None:
    """By role and index; roles are in the order in which ranks are counted."""
    before = 0
    for replica_type in job.replicas:
        if pod.metadata.labels.get(REPLICA_TYPE) == replica_type.lower():
            return before + (index_of(pod.metadata.labels) or 0)
        before += job.replica_count(replica_type)
    return None
