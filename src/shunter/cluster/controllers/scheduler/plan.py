"""The node for a waiting pod, or the condition and event when there is none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.core import Node
from shunter.api.meta import EPOCH, Json, condition_of, rfc3339
from shunter.api.resources import PODS
from shunter.api.scheduling.pod_requests import Amounts, requested
from shunter.cluster.controllers.scheduler import claims, fit
from shunter.cluster.controllers.scheduler.claims import PodClaim
from shunter.cluster.controllers.scheduler.fit import NodeMismatch
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.scheduler.resources import available, take
from shunter.kube.controllers.plan import NOTHING, Create, Note, Patch, Plan, Ref


class Queued(NamedTuple):
    """A pod that waits for a node, and its claims."""

    pod: SchedulablePod
    claimed: tuple[PodClaim, ...] = ()


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that waits for a node, and all nodes. Where resources count also the pods that are before it in line, and those that
    each node has already, by its name."""

    pod: SchedulablePod
    nodes: tuple[Node, ...]
    claimed: tuple[PodClaim, ...] = ()
    """The claims of the pod."""
    ahead: tuple[Queued, ...] = ()
    assigned: dict[str, tuple[SchedulablePod, ...]] = {}


def plan(observed: Observed, now: datetime) -> Plan:
    """Gives the pod to the first node that may take pods: that explains itself what it cannot give."""
    nodes = _ordered(observed)
    if not nodes:
        return NOTHING
    if kept_back := _blocked_by_claims(observed, now):
        return kept_back
    misfits = {node.metadata.name: misfit for node in nodes if (misfit := fit.admission(observed.pod, node))}
    misfits = {**_without_volumes(observed.claimed, nodes), **misfits}
    for node in nodes:
        if node.metadata.name not in misfits:
            return _placed(observed, node)
    return _refused(observed.pod, fit.message(misfits), now)


def plan_strictly(observed: Observed, now: datetime) -> Plan:
    """Gives the pod to the first node that has room for it once those ahead are served; or says why none has."""
    nodes = _ordered(observed)
    if kept_back := _blocked_by_claims(observed, now):
        return kept_back
    rests = {node.metadata.name: available(node, observed.assigned.get(node.metadata.name, ())) for node in nodes}
    for other, claimed in sorted(observed.ahead, key=lambda queued: turn(queued.pod)):
        # One that its claims keep back takes no room: that may be for ever.
        if not claims.obstacle(claimed):
            _place(other, _able(nodes, _without_volumes(claimed, nodes)), rests)
    elsewhere = _without_volumes(observed.claimed, nodes)
    node, misfits = _place(observed.pod, _able(nodes, elsewhere), rests)
    if node is not None:
        return _placed(observed, node)
    return _refused(observed.pod, fit.message({**elsewhere, **misfits}), now)


def _without_volumes(claimed: tuple[PodClaim, ...], nodes: list[Node]) -> dict[str, NodeMismatch]:
    """The nodes, by name, that cannot mount the volumes that the claims have or may get."""
    reasons = {node.metadata.name: claims.mismatches(claimed, node) for node in nodes} if claimed else {}
    return {name: NodeMismatch(found) for name, found in reasons.items() if found}


def _able(nodes: list[Node], elsewhere: Collection[str]) -> list[Node]:
    """The nodes whose names are not among those that cannot mount the volumes, in the same order."""
    return [node for node in nodes if node.metadata.name not in elsewhere]


def _blocked_by_claims(observed: Observed, now: datetime) -> Plan | None:
    """The plan for a pod whose claims prevent scheduling; None when they do not."""
    text = claims.obstacle(observed.claimed)
    if not text:
        return None
    return _refused(observed.pod, fit.unresolvable(text, len(observed.nodes)), now)


def _placed(observed: Observed, node: Node) -> Plan:
    """Binds the pod to the node, once its claims have their volumes."""
    selections = claims.selections(observed.claimed, node)
    return Plan(writes=(_binding(observed.pod, node),) if selections is None else tuple(selections))


def turn(pod: SchedulablePod) -> tuple[int, datetime, str, str]:
    """Sorts pods into the line: higher priority first, then older."""
    metadata = pod.metadata
    return -pod.spec.priority, metadata.creation_timestamp or EPOCH, metadata.namespace, metadata.name


def behind(concerned: Iterable[SchedulablePod], waiting: Iterable[SchedulablePod]) -> list[SchedulablePod]:
    """The waiting pods from the first of the concerned ones on, for which it matters what these take; none without any."""
    first = min(map(turn, concerned), default=None)
    return [] if first is None else [pod for pod in waiting if turn(pod) >= first]


def _ordered(observed: Observed) -> list[Node]:
    return sorted(observed.nodes, key=lambda node: node.metadata.name)


def _place(pod: SchedulablePod, nodes: list[Node], rests: dict[str, Amounts]) -> tuple[Node | None, dict[str, NodeMismatch]]:
    """The first node that takes the pod, whose rest is then less; or why each does not."""
    misfits: dict[str, NodeMismatch] = {}
    for node in nodes:
        rest = rests[node.metadata.name]
        misfit = fit.placement(pod, node) or fit.resources(pod, node, rest)
        if misfit is None:
            take(rest, requested(pod.spec))
            return node, {}
        misfits[node.metadata.name] = misfit
    return None, misfits


def _binding(pod: SchedulablePod, node: Node) -> Create:
    name, namespace, chosen = pod.metadata.name, pod.metadata.namespace, node.metadata.name
    body: Json = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": pod.metadata.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": chosen},
    }
    message = f"Successfully assigned {namespace}/{name} to {chosen}"
    scheduled = Note(regarding=Ref.of(PODS, pod.metadata), type="Normal", reason="Scheduled", message=message, action="Binding")
    return Create(resource=PODS, body=body, subresource="binding", succeeded=scheduled)


def _refused(pod: SchedulablePod, message: str, now: datetime) -> Plan:
    """The condition and the event of a pod that no node takes; nothing when the pod says so already."""
    before = condition_of(pod.status.conditions, "PodScheduled")
    if before is not None and (before.reason, before.message) == ("Unschedulable", message):
        return NOTHING
    since = before.last_transition_time if before is not None and before.status == "False" else None
    condition: Json = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": rfc3339(since or now),
    }
    others = [msgspec.to_builtins(other) for other in pod.status.conditions if other.type != "PodScheduled"]
    ref = Ref.of(PODS, pod.metadata)
    failed = Note(regarding=ref, type="Warning", reason="FailedScheduling", message=message, action="Scheduling")
    patch = {"metadata": {"resourceVersion": pod.metadata.resource_version}, "status": {"conditions": [*others, condition]}}
    return Plan(writes=(Patch(ref=ref, patch=patch, subresource="status", succeeded=failed),))
