"""K02: no node has room for a pod or satisfies its constraints.

Does not say that waiting helps if no node's allocatable suffices, nor that the cluster has none if an autoscaler may add some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from shunter.api.core import pod_has_ended
from shunter.api.formats.counts import listed
from shunter.api.formats.quantity import format_milli
from shunter.api.meta import Json
from shunter.api.ownership import controller_reference
from shunter.api.scheduling.pod_requests import PodRequests, allocatable, requested
from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Excerpt, Verdict

_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]+?)[.,]?(?=\s|$)")
MOST_HOLDERS = 3


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the scheduler's message, the allocatable of nodes and the requests of other pods: which pods hold the
    resource. By the scheduler's message alone if nodes were not read. Never that waiting helps if no node is large enough."""
    found = of_blocked_pods(case, "K02", "CANNOT BE PLACED", ("Unschedulable",), state="not scheduled")
    return [_with_room(case, verdict) for verdict in found]


def _with_room(case: Case, verdict: Verdict) -> Verdict:
    """The verdict with the pod's request, and what the nodes have of that resource."""
    name = next(iter(_INSUFFICIENT.findall(verdict.cause)), "")
    if not name or not case.evidence.nodes:
        return verdict
    request = max((amounts(case.pod(pod)["spec"]).get(name, Fraction(0)) for pod in verdict.pods), default=Fraction(0))
    most = max(allocatable(node, name) for node in case.evidence.nodes)
    excerpt = Excerpt(source="scheduler", text=verdict.cause)
    if most < request:
        text = f"a pod requests {_amount(name, request)} {name}, and no existing node has more than {_amount(name, most)}"
        remedy = verdict.remedy if "autoscaler" in verdict.remedy else "Request less in the pod template, or add a larger node."
        return msgspec.structs.replace(verdict, cause=text, remedy=remedy, evidence=(*verdict.evidence, excerpt))
    holders = _holders(case, name)
    held = f": {holders} hold them" if holders else ""
    text = f"a pod requests {_amount(name, request)} {name}, and no node has that much left{held}"
    return msgspec.structs.replace(verdict, cause=text, evidence=(*verdict.evidence, excerpt))


def _holders(case: Case, name: str) -> str:
    """The owners of the pods that hold most of the resource, with the amounts."""
    held: dict[str, Fraction] = {}
    for pod in case.evidence.neighbours:
        if pod_has_ended(pod):
            continue
        if amount := amounts(pod["spec"]).get(name):
            owner = controller_reference(pod) or {}
            who = f"{pod['metadata']['namespace']}/{owner.get('name') or pod['metadata']['name']}"
            held[who] = held.get(who, Fraction(0)) + amount
    most = sorted(held, key=lambda who: (-held[who], who))
    return listed([f"{who} ({_amount(name, held[who])})" for who in most], MOST_HOLDERS)


def amounts(spec: Json) -> dict[str, Fraction]:
    """The requests of a pod, by resource."""
    return requested(msgspec.convert(spec, PodRequests, strict=False))


def _amount(name: str, amount: Fraction) -> str:
    return format_milli(amount, binary=name in ("memory", "ephemeral-storage"))


def insufficient(messages: Sequence[str]) -> bool:
    """Whether the messages of a scheduler name an insufficient resource."""
    return any(_INSUFFICIENT.search(message) for message in messages)


def needs(case: Case) -> tuple[str, ...]:
    """Nodes, only if the scheduler names an insufficient resource."""
    texts = [text for _, text, _ in case.pods_blocked_by(("Unschedulable",))]
    return (*pods_and_events(case), *(("nodes",) if insufficient(texts) else ()))


RULE = Rule("K02", judge, needs)
