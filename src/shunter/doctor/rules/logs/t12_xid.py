"""T12: an XID of NVIDIA's driver on a node of the job.

Does not call a GPU defective for errors that programs cause (13, 31, 43), and is only possible for pods that request no GPU.
Source of the table: NVIDIA's XID catalogue.
"""

from __future__ import annotations

import re

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import gpus_of
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.operator.causes.events import event_time

_XID = re.compile(r"\bX[Ii][Dd]\s*(?:\([^)]*\))?\s*:?\s*(\d{1,3})\b")
HARDWARE = {
    48: "an uncorrectable memory error (double bit ECC)",
    64: "a row of memory that could not be remapped",
    74: "an NVLink error",
    79: "a GPU that fell off the bus",
    95: "an uncontained memory error",
}
APPLICATION = {
    13: "an exception in a kernel, usually caused by the program",
    31: "a page fault in a kernel, usually caused by the program",
    43: "a channel that was stopped after an error of the program",
}


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on events of nodes with a known XID since the job was created, one verdict for each node and number. Likely
    only for hardware errors on nodes with pods that request a GPU."""
    created = case.overview.created
    events: dict[tuple[str, int], Json] = {}
    for event in sorted(case.evidence.events, key=event_time):
        about = event.get("involvedObject", {})
        match = _XID.search(f"{event.get('reason', '')} {event.get('message', '')}")
        if about.get("kind") == "Node" and match is not None and (created is None or event_time(event) >= created):
            events[about.get("name", ""), int(match[1])] = event
    found = []
    for (node, number), event in events.items():
        pods = [pod for pod in case.pods if pod["spec"].get("nodeName") == node]
        known = HARDWARE.get(number) or APPLICATION.get(number)
        if known and pods:
            found.append(_verdict(case, event, number, known, pods))
    return found


def _asks_for_gpu(pod: Json) -> bool:
    return bool(pod["spec"].get("resourceClaims")) or gpus_of(pod["spec"]) > 0


def _verdict(case: Case, event: Json, number: int, known: str, on_node: list[Json]) -> Verdict:
    asking = [pod for pod in on_node if _asks_for_gpu(pod)]
    pods = [pod["metadata"]["name"] for pod in asking or on_node]
    node = event["involvedObject"]["name"]
    is_hardware = number in HARDWARE
    confidence: Confidence = "likely" if is_hardware and asking else "possible"
    ranks = case.ranks_of(pods)
    remedy = (
        f"Cordon the node (kubectl cordon {node}), and have the GPU checked."
        if is_hardware
        else "Find the kernel: with CUDA_LAUNCH_BLOCKING=1 the traceback names it. The GPU is probably fine."
    )
    return Verdict(
        id="T12",
        title="GPU ERROR",
        cause=f"XID {number} on node {node} of {rank_list(ranks)}: {known}",
        confidence=confidence,
        ranks=ranks,
        pods=tuple(pods),
        evidence=(Excerpt(source="node", text=str(event.get("message", "")).strip(), at=event_time(event).isoformat()),),
        remedy=remedy,
    )


RULE = Rule("T12", judge)
