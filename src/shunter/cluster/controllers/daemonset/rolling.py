"""A rolling update of a DaemonSet: which old pods go now, and which nodes get a new one beside the old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from shunter.api.apps import DaemonSet
from shunter.cluster.controllers.daemonset.pod import DaemonPod, is_updated
from shunter.cluster.controllers.workloads.pods import is_available
from shunter.cluster.controllers.workloads.shares import share


class Step(NamedTuple):
    """Old pods to delete, and nodes that get a new pod beside the old one."""

    delete: tuple[DaemonPod, ...] = ()
    create: tuple[str, ...] = ()
    """Names of nodes."""


class _OnNode(NamedTuple):
    """The pods of one node that are to stay; more than one of a kind is another rule's matter."""

    new: DaemonPod | None
    old: DaemonPod | None
    is_crowded: bool


def allows_surge(daemon_set: DaemonSet) -> bool:
    """Whether maxSurge lets a node have a new pod beside the old one; never with the strategy OnDelete."""
    return _max_surge(daemon_set, 1) > 0


def step(
    daemon_set: DaemonSet, pods: Mapping[str, Sequence[DaemonPod]], desired: Sequence[str], hash: str, now: datetime
) -> Step:
    """The next step. `pods` are those of each node, `desired` the nodes that should have one."""
    surge = _max_surge(daemon_set, len(desired))
    unavailable = _max_unavailable(daemon_set, len(desired))
    if desired and surge == 0 and unavailable == 0:
        unavailable = 1
    nodes = {name: _on_node(daemon_set, pods.get(name, ()), hash) for name in {**pods, **dict.fromkeys(desired)}}
    seconds = daemon_set.spec.min_ready_seconds
    if surge == 0:
        return _replacing(nodes, unavailable, seconds, now)
    return _surging(nodes, set(desired), surge, seconds, now)


def _replacing(nodes: Mapping[str, _OnNode], most: int, seconds: int, now: datetime) -> Step:
    """Old pods that are not available go at once, others as far as maxUnavailable lets them."""
    missing = 0
    allowed: list[DaemonPod] = []
    candidates: list[DaemonPod] = []
    for new, old, is_crowded in nodes.values():
        if is_crowded or (old is None) == (new is None):
            missing += 1
        elif new is not None:
            missing += not is_available(new, seconds, now)
        elif old is not None and not is_available(old, seconds, now):
            allowed.append(old)
            missing += 1
        elif old is not None:
            candidates.append(old)
    return Step(delete=(*allowed, *candidates[: max(most - missing, 0)]))


def _surging(nodes: Mapping[str, _OnNode], desired: set[str], most: int, seconds: int, now: datetime) -> Step:
    """A new pod comes beside the old one, which goes when the new one is available."""
    surging = available = 0
    delete: list[DaemonPod] = []
    leaving: list[DaemonPod] = []
    create: list[str] = []
    candidates: list[str] = []
    for name, (new, old, is_crowded) in nodes.items():
        if is_crowded:
            surging += 1
            continue
        first = old or new
        available += first is not None and is_available(first, seconds, now)
        if old is None:
            continue
        if new is not None:
            if is_available(new, seconds, now):
                delete.append(old)
            else:
                surging += 1
        elif not is_available(old, seconds, now):
            if name in desired:
                create.append(name)
            else:
                delete.append(old)
        elif name in desired:
            candidates.append(name)
        else:
            leaving.append(old)
    spare = max(available - len(desired), 0)
    return Step((*delete, *leaving[:spare]), (*create, *candidates[: max(most - surging, 0)]))


def _on_node(daemon_set: DaemonSet, pods: Sequence[DaemonPod], hash: str) -> _OnNode:
    staying = [pod for pod in pods if not pod.is_leaving]
    new = [pod for pod in staying if is_updated(pod, daemon_set, hash)]
    old = [pod for pod in staying if not is_updated(pod, daemon_set, hash)]
    return _OnNode(new[0] if new else None, old[0] if old else None, len(new) > 1 or len(old) > 1)


def _max_surge(daemon_set: DaemonSet, nodes: int) -> int:
    strategy = daemon_set.spec.update_strategy
    return share(strategy.rolling_update.max_surge, nodes, up=True) if strategy.type == "RollingUpdate" else 0


def _max_unavailable(daemon_set: DaemonSet, nodes: int) -> int:
    strategy = daemon_set.spec.update_strategy
    return share(strategy.rolling_update.max_unavailable, nodes, up=True) if strategy.type == "RollingUpdate" else 0
