"""How long a Job waits before it replaces failed pods: 10 s, doubled with each failure after the last success, at most 10 min."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.cluster.controllers.job.pods import all_index_failures, is_failed

FIRST_DELAY = timedelta(seconds=10)
LONGEST_DELAY = timedelta(minutes=10)


class Finish(NamedTuple):
    """How and when one pod of a Job ended."""

    at: datetime
    succeeded: bool


def finish_of(pod: Pod, job: Job, now: datetime) -> Finish | None:
    """How the pod ended, or None while it may still do something."""
    if pod.status.phase == "Succeeded":
        return Finish(finished_at(pod, now), True)
    return Finish(finished_at(pod, now), False) if is_failed(pod, job) else None


def finished_at(pod: Pod, now: datetime) -> datetime:
    """The best guess at when a pod ended: its last container's end, else since when it is not ready, else the start of its
    deletion, else its creation."""
    ended = [status.state.terminated.finished_at if status.state.terminated else None for status in pod.status.container_statuses]
    times = [moment for moment in ended if moment is not None]
    if times and len(times) == len(ended):
        return max(times)
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time is not None:
            return condition.last_transition_time
    return pod.metadata.deletion_requested or pod.metadata.creation_timestamp or now


def delay(finishes: Iterable[Finish], now: datetime) -> timedelta:
    """How long from now until a Job with these ended pods may create more; zero when it may at once."""
    finishes = tuple(finishes)
    last_success = max((finish.at for finish in finishes if finish.succeeded), default=None)
    failures = [finish.at for finish in finishes if not finish.succeeded and (last_success is None or finish.at > last_success)]
    return _remaining(len(failures), max(failures), now) if failures else timedelta()


def index_delay(failed: Pod | None, now: datetime) -> timedelta:
    """How long from now until a failed pod's index may get another (backoffLimitPerIndex)."""
    return timedelta() if failed is None else _remaining(all_index_failures(failed) + 1, finished_at(failed, now), now)


def _remaining(failures: int, last: datetime, now: datetime) -> timedelta:
    wait: timedelta = min(FIRST_DELAY * 2 ** min(failures - 1, 10), LONGEST_DELAY)
    return max(wait - (now - last), timedelta())
