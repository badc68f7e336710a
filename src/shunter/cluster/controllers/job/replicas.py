"""How many pods should run now: which to delete, which to create, or how long to wait before creating."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import EPOCH
from shunter.cluster.controllers.job.backoff import Finish, delay, index_delay
from shunter.cluster.controllers.job.indexes import Indexes
from shunter.cluster.controllers.job.pods import completion_index, is_terminating, replaces_only_failed
from shunter.cluster.controllers.job.tally import Tally

MOST_AT_ONCE = 500
"""Pods created or deleted by one plan: a big Job must not keep others waiting."""


class ReplicaChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about the pods of a running Job. Either deletes or creates, never both."""

    delete: tuple[Pod, ...] = ()
    create: int = 0
    indexes: tuple[int, ...] = ()
    """The completion index of each pod to create; empty when the Job is not Indexed."""
    wait: timedelta = timedelta()
    """Creation is put off this long because pods failed."""


def change_of(tally: Tally, finishes: Iterable[Finish], now: datetime) -> ReplicaChange:
    """What brings the number of active pods to what the Job wants now."""
    job, active = tally.job, len(tally.active)
    if job.spec.suspend:
        return ReplicaChange(delete=tally.active)
    desired = _desired_active(tally)
    surplus = surplus_of(tally, max(active - desired, 0))[:MOST_AT_ONCE]
    if surplus:
        return ReplicaChange(delete=surplus)
    missing = desired - active - (tally.terminating if replaces_only_failed(job) else 0)
    if missing <= 0:
        return ReplicaChange()
    if job.spec.backoff_limit_per_index is None and (wait := delay(finishes, now)):
        return ReplicaChange(wait=wait)
    missing = min(missing, MOST_AT_ONCE)
    if not job.is_indexed:
        return ReplicaChange(create=missing)
    indexes = pending_indexes(tally, missing)
    delays = {index: index_delay(tally.awaiting_replacement.get(index), now) for index in indexes}
    at_once = tuple(index for index in indexes if not delays[index])
    if not at_once and delays:
        return ReplicaChange(wait=min(delays.values()))
    return ReplicaChange(create=len(at_once), indexes=at_once)


def surplus_of(tally: Tally, at_least: int) -> tuple[Pod, ...]:
    """The active pods that are too many: those without a proper index, all but the most advanced of one index, and of the rest
    the least advanced, `at_least` in all."""
    surplus: list[Pod] = []
    kept: list[Pod] = []
    if tally.job.is_indexed:
        by_index: dict[int, list[Pod]] = {}
        for pod in tally.active:
            index = completion_index(pod)
            if index is None or index >= (tally.job.spec.completions or 0):
                surplus.append(pod)
            else:
                by_index.setdefault(index, []).append(pod)
        for _, pods in sorted(by_index.items()):
            # Of pods that were made within one second the first known stays: a sort keeps the order of equals.
            last, *repeated = sorted(pods, key=_progress, reverse=True)
            surplus += repeated[::-1]
            kept.append(last)
    else:
        kept = list(tally.active)
    if len(surplus) < at_least:
        surplus += sorted(kept, key=_progress)[: at_least - len(surplus)]
    return tuple(surplus)


def pending_indexes(tally: Tally, count: int) -> list[int]:
    """The first `count` indexes that have neither succeeded nor failed and that no pod serves."""
    serving = list(tally.active)
    if replaces_only_failed(tally.job):
        serving += [pod for pod in tally.pods if is_terminating(pod)]
    taken = tally.succeeded_indexes | (tally.failed_indexes or Indexes())
    taken |= Indexes.of(index for pod in serving if (index := completion_index(pod)) is not None)
    gaps = taken.gaps(tally.job.spec.completions or 0)
    return [index for index, _ in zip(gaps, range(count), strict=False)]


def _desired_active(tally: Tally) -> int:
    spec = tally.job.spec
    if spec.completions is None:
        return len(tally.active) if tally.succeeded else spec.parallelism
    return max(0, min(spec.completions - tally.succeeded, spec.parallelism))


def _progress(pod: Pod) -> tuple[object, ...]:
    """Sorts the pod whose loss costs least first: not assigned, pending, not ready, ready for a shorter time, restarted more
    often, younger."""
    ready_since = next(
        (c.last_transition_time for c in pod.status.conditions if c.type == "Ready" and c.is_true and c.last_transition_time),
        None,
    )
    restarts = max((status.restart_count for status in pod.status.container_statuses), default=0)
    return (
        pod.spec.node_name != "",
        {"Pending": 0, "": 0, "Unknown": 1, "Running": 2}.get(pod.status.phase, 0),
        pod.is_ready,
        -(ready_since or EPOCH).timestamp() if pod.is_ready else 0,
        -restarts,
        -(pod.metadata.creation_timestamp or EPOCH).timestamp(),
    )
