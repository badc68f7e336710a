"""Which pods go first when there are too many: those that are of least use.

Source: k8s.io/kubernetes 1.36 `ActivePodsWithRanks`: without a node, pending, not ready, of lower deletion cost, beside others on
their node, ready for a shorter time, restarted more often, younger. Ages count by their order of magnitude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import floor, log2

from shunter.api.core import Pod
from shunter.api.formats.digits import integer
from shunter.cluster.controllers.workloads.pods import ready_since

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def victims(pods: Sequence[Pod], siblings: Iterable[Pod], count: int, now: datetime) -> tuple[Pod, ...]:
    """`count` of the pods, those to delete first in front; `siblings` are the pods, of these and of others, that they share nodes
    with."""
    if count >= len(pods):
        return tuple(pods)
    neighbours = Counter(pod.spec.node_name for pod in siblings if pod.is_active)
    return tuple(sorted(pods, key=lambda pod: _usefulness(pod, neighbours[pod.spec.node_name], now))[:count])


def _usefulness(pod: Pod, neighbours: int, now: datetime) -> tuple[object, ...]:
    since = ready_since(pod)
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return (
        pod.spec.node_name != "",
        _PHASES.get(pod.status.phase, 0),
        since is not None,
        _deletion_cost(pod),
        -neighbours,
        _magnitude(since, now),
        -max((status.restart_count for status in statuses), default=0),
        _magnitude(pod.metadata.creation_timestamp, now),
        pod.metadata.uid,
    )


def _deletion_cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "")
    cost = None if text.startswith(("0", "+")) else integer(text)
    return cost if cost is not None and -(2**31) <= cost < 2**31 else 0


def _magnitude(since: datetime | None, now: datetime) -> int:
    """The binary logarithm of an age in nanoseconds."""
    seconds = (now - since).total_seconds() if since else 0
    return floor(log2(seconds * 1e9)) if seconds > 0 else -1
