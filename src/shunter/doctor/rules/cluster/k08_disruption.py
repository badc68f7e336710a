"""K08: a pod was evicted, preempted or drained, or its node is gone.

Does not call a node spot unless its labels say so, and names the preemptor only if the scheduler's event does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shunter.api.core import pod_has_ended
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json, Struct
from shunter.doctor.case import Case
from shunter.doctor.endings import deleted_pod_number
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator.causes.events import event_time
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import is_v2, moment, was_pod_of

POD_REASONS = ("Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated", "UnexpectedAdmissionError")
"""Reasons of failed pods that a kubelet or a controller ended from outside."""
DISRUPTIONS = {
    "PreemptionByScheduler": "was preempted for a pod of higher priority",
    "EvictionByEvictionAPI": "was evicted through the API, as kubectl drain does",
    "DeletionByTaintManager": "was deleted because of a NoExecute taint of its node",
    "DeletionByDeviceTaintManager": "was deleted because of a taint of its device",
    "DeletionByPodGC": "was deleted because its node no longer exists",
    "TerminationByKubelet": "was terminated by its node",
}
"""Reasons of the condition DisruptionTarget (Kubernetes 1.36)."""
EVENTS = {
    "Evicted": "was evicted by its node",
    "Preempted": DISRUPTIONS["PreemptionByScheduler"],
    "TaintManagerEviction": DISRUPTIONS["DeletionByTaintManager"],
}
_SPARED = "Cancelling deletion"
"""How the taint manager's second event begins, of the same reason: the taint is gone, and the pod stays."""
_DELETED = re.compile(r"Pod (\S+) is deleted: (.*)", re.DOTALL)
"""The event of our operator on the job; its reason is that of the pod's condition, which also has the message."""
SPOT = {
    "karpenter.sh/capacity-type": "spot",
    "eks.amazonaws.com/capacityType": "SPOT",
    "cloud.google.com/gke-spot": "true",
    "cloud.google.com/gke-preemptible": "true",
    "kubernetes.azure.com/scalesetpriority": "spot",
}
REMEDIES = (
    ("preempted", "Give the job a higher priorityClassName, or run it where no pods of higher priority are scheduled."),
    ("low on resource", "Request what the pods use: then they are scheduled where it is available, and evicted last."),
    ("", "Let the job save checkpoints and resume from them: its pods may be deleted at any time."),
)


class Disruption(Struct, frozen=True):
    """One disrupted pod."""

    pod: str
    text: str
    message: str = ""
    at: str = ""
    source: str = "pod"


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on pods, events and nodes: which pods were evicted, preempted or deleted, or lost their node, one verdict
    for each way. None for a job that has succeeded or runs in full."""
    if case.overview.state == "Succeeded" or (case.runs_in_full and not case.overview.is_finished):
        return []
    found = grouped_by([*_of_pods(case), *_of_events(case), *_of_nodes(case)], lambda one: one.pod)
    groups: dict[str, list[str]] = {}
    for pod, ones in found.items():
        groups.setdefault(ones[0].text, []).append(pod)
    return [_verdict(case, text, pods, found) for text, pods in groups.items()]


def _verdict(case: Case, text: str, pods: list[str], found: dict[str, list[Disruption]]) -> Verdict:
    ranks = tuple(sorted({rank for pod in pods for rank in _ranks(case, pod, found[pod])}))
    who = rank_list(ranks) if ranks else f"pod {pods[0]}" if len(pods) == 1 else f"{len(pods)} pods"
    details = " ".join(one.message for pod in pods for one in found[pod])
    spot = next((f" (node {node} is spot capacity)" for pod in pods if (node := _spot_node(case, pod))), "")
    text = text if len(pods) == 1 else text.replace("was ", "were ", 1).replace("its ", "their ")
    return Verdict(
        id="K08",
        title="POD DISRUPTED",
        cause=f"{who} {text}{spot}",
        confidence="certain",
        ranks=ranks,
        pods=tuple(pods),
        evidence=tuple(
            Excerpt(source=one.source, text=one.message or one.text, pod=pod, at=one.at) for pod in pods for one in found[pod]
        ),
        remedy=next(remedy for mark, remedy in REMEDIES if mark in f"{text} {details}"),
    )


def _ranks(case: Case, pod: str, ones: list[Disruption]) -> tuple[int, ...]:
    at = moment(ones[0].at)
    number = deleted_pod_number(case.job, pod, at) if at is not None else None
    return case.ranks_of([pod]) or (case.ranks_of_number(number) if number is not None else ())


def _of_pods(case: Case) -> Iterator[Disruption]:
    for pod in case.pods:
        name, status = pod["metadata"]["name"], pod.get("status", {})
        reason, message = status.get("reason") or "", (status.get("message") or "").strip()
        if status.get("phase") == "Failed" and reason in POD_REASONS:
            text = "was evicted by its node" if reason == "Evicted" else f"was terminated by its node ({reason})"
            yield Disruption(pod=name, text=f"{text}{f': {message}' if message else ''}", message=f"{reason}: {message}")
            continue
        for condition in status.get("conditions") or ():
            if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
                text = DISRUPTIONS.get(condition.get("reason", ""), f"was disrupted ({condition.get('reason')})")
                yield Disruption(
                    pod=name, text=text, message=condition.get("message", ""), at=condition.get("lastTransitionTime") or ""
                )


def _of_events(case: Case) -> Iterator[Disruption]:
    """By events, also of deleted pods: an event outlives its pod."""
    there = {pod["metadata"]["uid"] for pod in case.pods}
    for event in case.evidence.events:
        about = event.get("involvedObject", {})
        deleted = _DELETED.match(str(event.get("message", ""))) if about.get("uid") == case.job["metadata"].get("uid") else None
        if deleted is not None and event.get("reason") in DISRUPTIONS:
            at = event_time(event).isoformat()
            yield Disruption(pod=deleted[1], text=DISRUPTIONS[event["reason"]], message=deleted[2], at=at, source="event")
            continue
        if event.get("reason") not in EVENTS or about.get("kind", "Pod") != "Pod":
            continue
        if str(event.get("message", "")).startswith(_SPARED):
            continue
        if about.get("uid") in there or _was_pod(case, about.get("name", ""), event):
            message = str(event.get("message", "")).strip()
            text = EVENTS[event["reason"]]
            yield Disruption(pod=about["name"], text=text, message=message, at=event_time(event).isoformat(), source="event")


def _was_pod(case: Case, name: str, event: Json) -> bool:
    job = case.job
    if not (is_v2(job) or is_native(job)):
        return was_pod_of(job, name, event_time(event))
    base = re.escape(job["metadata"]["name"])
    if is_native(job):
        return re.fullmatch(rf"{base}-\d+-[a-z0-9]{{5}}", name) is not None
    groups = [
        re.escape(group["name"])
        for child in case.evidence.children
        if child.get("kind") == "JobSet"
        for group in (child.get("spec") or {}).get("replicatedJobs") or ()
    ]
    return bool(groups) and re.fullmatch(rf"{base}-(?:{'|'.join(groups)})-\d+-\d+-[a-z0-9]{{5}}", name) is not None


def _of_nodes(case: Case) -> Iterator[Disruption]:
    """Pods whose node is gone or not ready, if nodes could be read."""
    if not case.evidence.nodes:
        return
    nodes = {node["metadata"]["name"]: node for node in case.evidence.nodes}
    for pod in case.pods:
        name = pod.get("spec", {}).get("nodeName")
        if not name or pod_has_ended(pod):
            continue
        if name not in nodes:
            yield Disruption(pod=pod["metadata"]["name"], text=f"was on node {name}, which no longer exists", source="node")
        elif (ready := _ready(nodes[name])) not in ("", "True"):
            yield Disruption(pod=pod["metadata"]["name"], text=f"was on node {name}, which is not ready ({ready})", source="node")


def _ready(node: Json) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next((str(one.get("status")) for one in conditions if one.get("type") == "Ready"), "")


def _spot_node(case: Case, pod: str) -> str:
    name = case.pod(pod).get("spec", {}).get("nodeName") or ""
    node: Json = next((node for node in case.evidence.nodes if node["metadata"]["name"] == name), {})
    labels = node.get("metadata", {}).get("labels") or {}
    return name if any(labels.get(label) == value for label, value in SPOT.items()) else ""


RULE = Rule("K08", judge, pods_and_events, explains=True)
