"""T07: ranks do not reach the rendezvous: its address or port is wrong, or the network between is closed.

Names a NetworkPolicy only where one selects the pods and does not let the port in.
"""

from __future__ import annotations

import re

from shunter.api.meta import Json
from shunter.api.selectors import selects
from shunter.doctor.case import Case
from shunter.doctor.places import rank_list
from shunter.doctor.rules.logs.texts import line, matching, said, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, of_error, ranks_of
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict

CLIENT = re.compile(
    r"(?:client socket has (?:timed out|failed to connect)|Failed to connect to|could not connect to"
    r"|The connection to the C10d store has failed).*?\(?\[?([\w.:-]+?)\]?(?:, ?|:)(\d{2,5})\)?"
)
JOINED = re.compile(r"\b(\d+)/(\d+) clients joined")
_VARIABLES = (("MASTER_ADDR", "MASTER_PORT"), ("PET_MASTER_ADDR", "PET_MASTER_PORT"))


def judge(case: Case) -> list[Verdict]:
    found = matching(case, CLIENT)
    if not found:
        return []
    ones = [ending for ending, _ in found]
    alone = [ending for ending, _ in matching(case, JOINED) if ending not in ones]
    host, port = found[0][1][1], found[0][1][2]
    who = rank_list(ranks_of(ones))
    evidence = [said(ending, line(match)) for ending, match in found]
    text, remedy = f"{who} cannot reach the rendezvous at {host}:{port}", "Check that the master runs and listens on that port."
    confidence: Confidence = "possible"
    given = _given(case)
    policy = _closing_policy(case, port)
    if given and not any(_same(host, port, one) for one in given):
        address, number = given[0]
        confidence, text = "certain", f"{who} use{'s' if len(ranks_of(ones)) == 1 else ''} the wrong address: {host}:{port}"
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
    """Addresses of the rendezvous that the job gives to its pods: the operator's, or what the job itself says."""
    found = []
    for pod in case.ranked:
        for container in pod["spec"]["containers"]:
            values = {one["name"]: str(one.get("value") or "") for one in container.get("env") or ()}
            found += [(values[host], values[port]) for host, port in _VARIABLES if values.get(host) and values.get(port)]
    return list(dict.fromkeys(found))


def _same(host: str, port: str, given: tuple[str, str]) -> bool:
    address, number = given
    is_name = not re.fullmatch(r"[\d.:]+", host)
    if port != number:
        return False
    # An address may be that of the name which the job gives; a name must be it, or begin with it or be its beginning.
    return not is_name or address in ("localhost", "0.0.0.0") or host.split(".")[0] == address.split(".")[0]


def _closing_policy(case: Case, port: str) -> str:
    """The NetworkPolicy that selects the first rank's pod and lets nothing in on the port from the job's own pods."""
    if not case.ranked or not case.evidence.policies:
        return ""
    first = case.ranked[0]["metadata"].get("labels") or {}
    others = [pod["metadata"].get("labels") or {} for pod in case.ranked[1:]] or [first]
    selecting = [
        policy
        for policy in case.evidence.policies
        if "Ingress" in (policy["spec"].get("policyTypes") or ["Ingress"])
        and selects(policy["spec"].get("podSelector") or {}, first)
    ]
    if not selecting or any(_lets_in(rule, port, others) for policy in selecting for rule in policy["spec"].get("ingress") or ()):
        return ""
    return str(selecting[0]["metadata"]["name"])


def _lets_in(rule: Json, port: str, labels: list[dict[str, str]]) -> bool:
    ports = rule.get("ports") or []
    if ports and not any(_covers(one, port) for one in ports):
        return False
    peers = rule.get("from") or []
    # Namespaces and blocks of addresses may be those of the pods: what cannot be told counts as open.
    return not peers or any(
        "ipBlock" in peer or "namespaceSelector" in peer or any(selects(peer.get("podSelector") or {}, one) for one in labels)
        for peer in peers
    )


def _covers(one: Json, port: str) -> bool:
    """Whether TCP is let in on the port; a port by name may be this one."""
    if one.get("protocol", "TCP") != "TCP":
        return False
    first = one.get("port")
    if first is None or not str(first).isdecimal():
        return True
    return int(first) <= int(port) <= int(one.get("endPort") or first)


def needs(case: Case) -> tuple[str, ...]:
    closed = ("networkpolicies",) if matching(case, CLIENT) else ()
    return (*logs_of_failures(case), *closed)


RULE = Rule("T07", judge, needs, explains=True)
