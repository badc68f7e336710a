"""K01: a PersistentVolumeClaim that the pods mount does not exist, or has no volume yet.

Does not claim that the provisioner is broken: of an existing claim it only says that it is not bound.
"""

from __future__ import annotations

import re

import msgspec

from shunter.api.meta import Json
from shunter.api.scheduling.storage_classes import class_of
from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Excerpt, Verdict

_NAME = re.compile(r"PersistentVolumeClaim (\S+) does not exist")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the causes of blocked pods and the claims: which claim is missing, or has no volume yet, with its phase
    and storage class. No verdict about a claim that exists by now; only likely if claims could not be read. Never why a claim is
    not bound."""
    missing = [
        _verified(case, one) for one in of_blocked_pods(case, "K01", "CANNOT START", ("MissingClaim",), state="not scheduled")
    ]
    unbound = of_blocked_pods(case, "K01", "CANNOT START", ("UnboundClaim",), state="not scheduled")
    return [*(one for one in missing if one is not None), *(_with_claims(case, one) for one in unbound)]


def _verified(case: Case, verdict: Verdict) -> Verdict | None:
    """The verdict, if the claim does not exist: a scheduler's condition may be older than the claim."""
    if case.evidence.lacks("persistentvolumeclaims"):
        return msgspec.structs.replace(verdict, confidence="likely")
    match = _NAME.search(verdict.cause)
    if match and any(claim["metadata"]["name"] == match[1] for claim in case.evidence.claims):
        return None
    return msgspec.structs.replace(verdict, cause=f"{verdict.cause} in namespace {case.overview.namespace}")


def _with_claims(case: Case, verdict: Verdict) -> Verdict:
    pods = [case.pod(name) for name in verdict.pods]
    names = {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in pods
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    }
    waits = [
        Excerpt(source="claim", text=f"{claim['metadata']['name']} is {claim['status']['phase']}{_class(claim)}")
        for claim in case.evidence.claims
        if claim["metadata"]["name"] in names and (claim.get("status") or {}).get("phase") not in (None, "Bound")
    ]
    return msgspec.structs.replace(verdict, evidence=(*verdict.evidence, *waits))


def _class(claim: Json) -> str:
    name = class_of(claim)
    return f", storage class {name}" if name else ", no storage class"


def needs(case: Case) -> tuple[str, ...]:
    """Claims, only if a pod waits for one."""
    waits = case.pods_blocked_by(("MissingClaim", "UnboundClaim"))
    return (*pods_and_events(case), *(("persistentvolumeclaims",) if waits else ()))


RULE = Rule("K01", judge, needs)
