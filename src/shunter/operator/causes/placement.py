"""Why a pod has no node, as its scheduler says: alone, or with the gang that it is placed with. Pure; input is plain JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from shunter.api.meta import Json, stored_condition
from shunter.operator.causes.blocked_pod import RESPONSE_TIMEOUT, BlockedPod, age

AUTOSCALER_REASONS = ("TriggeredScaleUp", "Nominated")
_PREEMPTION = re.compile(r"( no new claims to deallocate,)? preemption:.*", re.DOTALL)
"""What a scheduler adds to the reason: whom it could take away."""
_CLAIM_MISSING = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
_CLAIM_TROUBLE = re.compile(
    r'unbound immediate PersistentVolumeClaims|persistentvolumeclaim "[^"]+" (?:is being deleted|bound to non-existent)'
    r"|waiting for ephemeral volume controller"
)
_GANG = re.compile(r"pod group|PodGroup|in gang|gang ", re.IGNORECASE)


def unscheduled_pod(label: str, pod: Json, events: Sequence[Json], now: datetime) -> BlockedPod | None:
    """A pod without a node, by the scheduler's condition."""
    scheduled = stored_condition(pod, "PodScheduled")
    scheduler = pod.get("spec", {}).get("schedulerName") or "default-scheduler"
    message = _PREEMPTION.sub("", str(scheduled.get("message", ""))).strip()
    group = str((pod.get("spec", {}).get("schedulingGroup") or {}).get("podGroupName") or "")
    if scheduled.get("reason") == "SchedulingGated" or pod.get("spec", {}).get("schedulingGates"):
        gates = ", ".join(gate.get("name", "") for gate in pod.get("spec", {}).get("schedulingGates") or [])
        text = f"the scheduling gates {gates} keep it back" if gates else "scheduling gates keep it back"
        return BlockedPod(
            label=label, word="SchedulingGated", text=text, remedy="The controller that sets them must remove them."
        )
    if scheduled.get("status") == "False":
        word, text, remedy = _scheduling(message)
        if word == "Unschedulable" and any(event.get("reason") in AUTOSCALER_REASONS for event in events):
            remedy = "A node autoscaler has reacted: a node may be added."
        return BlockedPod(label=label, word=word, text=text, remedy=remedy, gang=group)
    if not scheduled and group and age(pod, now) > RESPONSE_TIMEOUT:
        # The scheduler of Kubernetes 1.36 writes neither a condition nor an event then.
        text = f"scheduler {scheduler} has not processed the pod, which belongs to PodGroup {group}"
        see = f"kubectl get podgroups.scheduling.k8s.io {group} -n {pod['metadata']['namespace']} -o yaml"
        remedy = f"Check that the PodGroup exists and has at least minCount pods. See: {see}"
        return BlockedPod(label=label, word="WaitingForGang", text=text, remedy=remedy, gang=group)
    if not scheduled and age(pod, now) > RESPONSE_TIMEOUT:
        text = f"scheduler {scheduler} has not processed the pod"
        return BlockedPod(label=label, word="NoScheduler", text=text, remedy=f"Check that {scheduler} is installed and running.")
    return None


def with_gangs(blocked: Sequence[BlockedPod]) -> list[BlockedPod]:
    """The pods, where a gang that waits because no node fits one of its pods has that pod's reason for all of them."""
    waiting = {one.gang for one in blocked if one.word == "WaitingForGang"} - {""}
    first = {one.gang: one for one in reversed(blocked) if one.word == "Unschedulable" and one.gang in waiting}
    return [_of_gang(one, first[one.gang]) if one.gang in first else one for one in blocked]


def _of_gang(one: BlockedPod, without_room: BlockedPod) -> BlockedPod:
    if one.word not in ("WaitingForGang", "Unschedulable"):
        return one
    text = f"PodGroup {one.gang} cannot be placed as a whole: {without_room.label} does not fit with the others: "
    return msgspec.structs.replace(one, word="WaitingForGang", text=f"{text}{without_room.text}", remedy=without_room.remedy)


def _scheduling(message: str) -> tuple[str, str, str]:
    """Word, text and remedy for what a scheduler says."""
    if missing := _CLAIM_MISSING.search(message):
        text = f"PersistentVolumeClaim {missing[1]} does not exist"
        return "MissingClaim", text, "Create it, or correct persistentVolumeClaim.claimName of the volume."
    if _CLAIM_TROUBLE.search(message):
        return "UnboundClaim", message, "See why: kubectl get pvc, kubectl describe pvc"
    if _GANG.search(message):
        return "WaitingForGang", message, ""
    if not message:
        return "Unschedulable", "the scheduler found no node for it and gives no reason", ""
    remedy = "Request less in the pod template, free resources, or add a node." if "Insufficient" in message else ""
    return "Unschedulable", message, remedy
