"""T07: ranks cannot connect to the rendezvous: its address or port is wrong, or a NetworkPolicy forbids it.

Names a NetworkPolicy only if policies keep the other ranks from the first one's port.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from shunter.api.core import variables_of
from shunter.api.meta import Json
from shunter.api.network_policies import NetworkPod, NetworkPolicy, World, lets_through, limits, named_ports, selecting
from shunter.doctor.case import Case
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, of_error, ranks_of, ranks_text
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict

CLIENT = re.compile(
    r"(?:client socket has (?:timed out|failed to connect)|Failed to connect to|could not connect to"
    r"|The connection to the C10d store has failed).*?\(?\[?([\w.:-]+?)\]?(?:, ?|:)(\d{2,5})\)?"
)
JOINED = re.compile(r"\b(\d+)/(\d+) clients joined")
_VARIABLES = (("MASTER_ADDR", "MASTER_PORT"), ("PET_MASTER_ADDR", "PET_MASTER_PORT"))


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on failed connections in the errors of failed ranks, the addresses in their pods, and NetworkPolicies.
    Certain only for an address that the job does not set."""
    found = matching(case, CLIENT)
    if not found:
        return []
    ones = [ending for ending, _ in found]
    alone = [ending for ending, _ in matching(case, JOINED) if ending not in ones]
    host, port = found[0][1][1], found[0][1][2]
    evidence = [log_excerpt(ending, line(match)) for ending, match in found]
    text, remedy = (
        f"{ranks_text(ones)} cannot reach the rendezvous at {host}:{port}",
        "Check that the master runs and listens on that port.",
    )
    confidence: Confidence = "possible"
    given = _given(case)
    policy = _closing_policy(case, port) if case.ranked and case.evidence.policies else ""
    if given and not any(_same(host, port, one) for one in given):
        address, number = given[0]
        confidence, text = (
            "certain",
            f"{ranks_text(ones)} use{'' if len(ranks_of(ones)) > 1 else 's'} the wrong address: {host}:{port}",
        )
        text += f"; the job sets {address}:{number}"
        remedy = "Use the MASTER_ADDR and MASTER_PORT that the job sets."
    elif policy:
        confidence, text = "likely", f"{text}: NetworkPolicy {policy} selects the pods and does not allow port {port}"
        remedy = f"Allow traffic between the job's pods: kubectl describe networkpolicy {policy} -n {case.overview.namespace}"
        evidence.append(Excerpt(source="networkpolicy", text=policy))
    evidence += [of_error(ending) for ending in alone]
    return [
        verdict(
            case,
            "T07",
            "CANNOT CONNECT",
            text,
            [*ones, *alone],
            confidence=confidence,
            ranks=ranks_of(ones),
            evidence=evidence,
            remedy=remedy,
        )
    ]


def _given(case: Case) -> list[tuple[str, str]]:
    """The rendezvous addresses in the variables of the pods, set by the operator or by the job itself."""
    found = []
    for pod in case.ranked:
        for container in pod["spec"]["containers"]:
            values = variables_of(container)
            found += [(values[host], values[port]) for host, port in _VARIABLES if values.get(host) and values.get(port)]
    return list(dict.fromkeys(found))


def _same(host: str, port: str, given: tuple[str, str]) -> bool:
    address, number = given
    is_name = not re.fullmatch(r"[\d.:]+", host)
    if port != number:
        return False
    # An IP address may be that of the job's name; a name must have the same first label.
    return not is_name or address in ("localhost", "0.0.0.0") or host.split(".")[0] == address.split(".")[0]


def _closing_policy(case: Case, port: str) -> str:
    """The NetworkPolicy that keeps all other ranks from the first one's port, by ingress or egress. Labels of namespaces are not
    known, and what cannot be read of a policy counts as open."""
    namespace = case.overview.namespace
    policies = tuple(msgspec.convert(policy, NetworkPolicy) for policy in case.evidence.policies)
    first, *others = (_network_pod(pod) for pod in case.ranked)
    between = limits(World(policies, {namespace: None}, (first, *others), name_server="", opens_unreadable=True))
    others = [one for one in others if one.address]
    if first.uid not in between or not others:
        return ""
    if not any(lets_through(between[first.uid].ingress, one.address, "TCP", int(port)) for one in others):
        return _selecting(policies, first, "Ingress")
    if not any(lets_through(between[one.uid].egress, first.address, "TCP", int(port)) for one in others):
        return _selecting(policies, others[0], "Egress")
    return ""


def _selecting(policies: Sequence[NetworkPolicy], pod: NetworkPod, direction: str) -> str:
    """The name of the first policy that limits the pod in the direction."""
    return next(one.metadata.name for one in selecting(policies, pod) if direction in one.spec["policyTypes"])


def _network_pod(pod: Json) -> NetworkPod:
    """The pod as policies see it: without an address if it uses the host network."""
    metadata, spec = pod["metadata"], pod["spec"]
    address = "" if spec.get("hostNetwork") else pod.get("status", {}).get("podIP", "")
    labels = metadata.get("labels") or {}
    return NetworkPod(metadata["uid"], metadata["namespace"], metadata["name"], labels, address, named_ports(spec))


def needs(case: Case) -> tuple[str, ...]:
    """NetworkPolicies, only if a rank could not connect."""
    closed = ("networkpolicies",) if matching(case, CLIENT) else ()
    return (*logs_of_failures(case), *closed)


RULE = Rule("T07", judge, needs, explains=True)
