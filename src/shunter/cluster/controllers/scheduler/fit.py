"""Whether a node can take a pod, and if not, why: in kube-scheduler's words, which people and dashboards look for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from shunter.api.core import Node, Taint
from shunter.api.meta import Json
from shunter.api.scheduling.node_selectors import any_holds
from shunter.api.scheduling.pod_requests import Amounts, requested
from shunter.cluster.controllers.scheduler.pod import SchedulablePod, Toleration
from shunter.cluster.controllers.scheduler.resources import available

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeMismatch(NamedTuple):
    """Why one node does not take a pod. `may_fit_later` when other pods' end could change that."""

    reasons: tuple[str, ...]
    may_fit_later: bool = False


_NOT_CHOSEN = NodeMismatch(("node(s) didn't match Pod's node affinity/selector",))


def admission(pod: SchedulablePod, node: Node) -> NodeMismatch | None:
    """Whether the node may have the pod at all: it is neither cordoned nor tainted, nor does the pod name others."""
    if node.spec.unschedulable and not _tolerated(pod, UNSCHEDULABLE_TAINT):
        return NodeMismatch(("node(s) were unschedulable",))
    if untolerated(pod, node, ("NoSchedule", "NoExecute")):
        return NodeMismatch(("node(s) had untolerated taint(s)",))
    if not _named(pod, node):
        return _NOT_CHOSEN
    return None


def untolerated(pod: SchedulablePod, node: Node, effects: Collection[str]) -> bool:
    """Whether the node has a taint with one of the effects that the pod does not tolerate."""
    return any(taint.effect in effects and not _tolerated(pod, taint) for taint in node.spec.taints)


def is_chosen(pod: SchedulablePod, node: Node) -> bool:
    """Whether the pod's node selector and required node affinity take the node."""
    return pod.spec.node_selector.items() <= node.metadata.labels.items() and _affine(pod, node)


def placement(pod: SchedulablePod, node: Node) -> NodeMismatch | None:
    """Whether the node keeps the pod away, or the pod's own wishes do."""
    if refused := admission(pod, node):
        return refused
    return None if is_chosen(pod, node) else _NOT_CHOSEN


def resources(pod: SchedulablePod, node: Node, rest: Amounts) -> NodeMismatch | None:
    """Whether the pod's requests are in what the node has left."""
    requests = {name: amount for name, amount in requested(pod.spec).items() if amount > 0}
    short = [name for name, amount in requests.items() if amount > rest.get(name, 0)]
    reasons = [f"Insufficient {name}" for name in sorted(short)]
    full = "pods" in rest and rest["pods"] < 1
    if full:
        reasons.insert(0, "Too many pods")
    if not reasons:
        return None
    whole = available(node, ())
    return NodeMismatch(tuple(reasons), may_fit_later=all(requests[name] <= whole.get(name, 0) for name in short))


def message(misfits: Mapping[str, NodeMismatch]) -> str:
    """The FailedScheduling message for a pod that no node (by name) takes."""
    if not misfits:
        return "no nodes available to schedule pods"
    total = len(misfits)
    counts: dict[str, int] = {}
    for misfit in misfits.values():
        for reason in misfit.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    later = sum(misfit.may_fit_later for misfit in misfits.values())
    remedies = {"No preemption victims found for incoming pod": later, "Preemption is not helpful for scheduling": total - later}
    preemption = ", ".join(f"{count} {remedy}" for remedy, count in remedies.items() if count)
    return (
        f"0/{total} nodes are available: {reasons}. "
        f"no new claims to deallocate, preemption: 0/{total} nodes are available: {preemption}."
    )


def unresolvable(reason: str, nodes: int) -> str:
    """The FailedScheduling message for a pod that no node would change anything for."""
    return (
        f"0/{nodes} nodes are available: {reason}. no new claims to deallocate, "
        f"preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )


def _tolerated(pod: SchedulablePod, taint: Taint) -> bool:
    return any(_tolerates(toleration, taint) for toleration in pod.spec.tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.key != "" and toleration.value == taint.value)


def _affine(pod: SchedulablePod, node: Node) -> bool:
    """requiredDuringSchedulingIgnoredDuringExecution: any of its terms must hold."""
    terms = _required_terms(pod)
    return terms is None or any_holds(terms, node.metadata.name, node.metadata.labels)


def _named(pod: SchedulablePod, node: Node) -> bool:
    """Whether the pod may go to the node as far as it names nodes, as those of DaemonSets do."""
    terms = _required_terms(pod) or []
    by_name = [{"matchFields": term["matchFields"]} for term in terms if term.get("matchFields")]
    return len(by_name) < len(terms) or not terms or any_holds(by_name, node.metadata.name, {})


def _required_terms(pod: SchedulablePod) -> list[Json] | None:
    affinity: Json = pod.spec.affinity.get("nodeAffinity") or {}
    required: Json | None = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or []
