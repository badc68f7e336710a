"""Counting each ended pod exactly once.

A pod that has ended is first written into the status (its uid under uncountedTerminatedPods, or its index into completedIndexes),
then loses its tracking finalizer, then moves from uncounted to the counters. A crash between any two of these loses nothing and
counts nothing twice.
"""

from __future__ import annotations

import msgspec

from shunter.api.batch import UncountedTerminatedPods
from shunter.api.core import Pod
from shunter.cluster.controllers.job import pod_failure_policy
from shunter.cluster.controllers.job.indexes import Indexes
from shunter.cluster.controllers.job.pods import completion_index, counted_index, is_failed, is_tracked
from shunter.cluster.controllers.job.tally import Tally
from shunter.cluster.controllers.job.verdict import Verdict

MOST_UNCOUNTED = 500
"""Keeps the uids in the status below some 20 KB; the rest is counted by the next plan."""


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan counts: pods that lose their finalizer now, and what the status says after that."""

    release: tuple[Pod, ...]
    succeeded: int
    failed: int
    completed_indexes: Indexes
    uncounted: UncountedTerminatedPods
    is_complete: bool
    """Nothing is left to count."""


def settle(tally: Tally, verdict: Verdict | None) -> Settlement:
    """Sorts the ended pods into those already accounted for, whose finalizer may go, and those to account for now."""
    job = tally.job
    before = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
    stored = Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
    known = {*before.succeeded, *before.failed}
    release: list[Pod] = []
    completed: list[int] = []
    succeeded: list[str] = []
    failed: list[str] = []
    overflow = False
    tracked = [pod for pod in tally.pods if is_tracked(pod)]
    if job.is_indexed:
        tracked.sort(key=lambda pod: -1 if (index := completion_index(pod)) is None else index)
    for pod in tracked:
        if not _may_be_released(tally, verdict, pod):
            continue
        if pod.metadata.uid in known:
            release.append(pod)
            continue
        if pod.status.phase == "Succeeded":
            if not job.is_indexed:
                succeeded.append(pod.metadata.uid)
            elif (index := counted_index(pod, job)) is not None and index not in stored:
                completed.append(index)
            else:
                release.append(pod)
        elif _counts_as_failed(tally, verdict, pod):
            failed.append(pod.metadata.uid)
        else:
            release.append(pod)
        if len(completed) + len(succeeded) + len(failed) + len(known) >= MOST_UNCOUNTED:
            overflow = True
            break
    held = {pod.metadata.uid for pod in tracked} - {pod.metadata.uid for pod in release}
    still_succeeded = [uid for uid in before.succeeded if uid in held]
    still_failed = [uid for uid in before.failed if uid in held]
    completed_indexes = tally.succeeded_indexes | Indexes.of(completed)
    uncounted = UncountedTerminatedPods(
        succeeded=(*still_succeeded, *succeeded),
        failed=(*still_failed, *failed),
    )
    return Settlement(
        release=tuple(release),
        succeeded=completed_indexes.total
        if job.is_indexed
        else job.status.succeeded + len(before.succeeded) - len(still_succeeded),
        failed=job.status.failed + len(before.failed) - len(still_failed),
        completed_indexes=completed_indexes,
        uncounted=uncounted,
        is_complete=not (overflow or completed or uncounted.succeeded or uncounted.failed),
    )


def _may_be_released(tally: Tally, verdict: Verdict | None, pod: Pod) -> bool:
    job = tally.job
    if job.metadata.deletion_timestamp is not None or verdict is not None or pod.status.phase == "Succeeded":
        return True
    if not is_failed(pod, job):
        return False
    index = completion_index(pod)
    waiting = None if index is None else tally.awaiting_replacement.get(index)
    return waiting is None or waiting.metadata.uid != pod.metadata.uid


def _counts_as_failed(tally: Tally, verdict: Verdict | None, pod: Pod) -> bool:
    """Whether an ended pod (any pod, when the Job fails) goes into the failed counter."""
    job = tally.job
    if not is_failed(pod, job) and (verdict is None or verdict.success):
        return False
    if job.is_indexed and counted_index(pod, job) is None:
        return False
    return pod_failure_policy.match(job, pod).counts
