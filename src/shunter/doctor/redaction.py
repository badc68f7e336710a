"""Evidence without credentials. Applied to all that was read before anything of it is shown, recorded or serialized. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

import msgspec

from shunter.api.meta import Json
from shunter.doctor.evidence import Evidence
from shunter.doctor.verdicts import Verdict
from shunter.jobs.masking import HIDDEN, SHORTEST, credentials, is_credential, masked, masked_log

NOISE = ("managedFields",)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

T = TypeVar("T")


def redacted(evidence: Evidence, secrets: Collection[str] = ()) -> Evidence:
    """The evidence without credentials; `secrets` are values of Secrets that containers get as variables. Fields that nobody
    reads and that may repeat credentials (managedFields, kubectl's last applied configuration) are left out."""
    known = _known(evidence, secrets)
    processes = tuple(
        msgspec.structs.replace(
            sample,
            processes=tuple(
                msgspec.structs.replace(process, command=masked_log(process.command, known)) for process in sample.processes
            ),
        )
        for sample in evidence.samples
    )
    return msgspec.structs.replace(
        evidence,
        job=_hidden(evidence.job, known),
        pods=_hidden(evidence.pods, known),
        events=_hidden(evidence.events, known),
        children=_hidden(evidence.children, known),
        workloads=_hidden(evidence.workloads, known),
        nodes=_hidden(evidence.nodes, known),
        neighbours=_hidden(evidence.neighbours, known),
        claims=_hidden(evidence.claims, known),
        policies=_hidden(evidence.policies, known),
        logs=tuple(msgspec.structs.replace(log, text=masked_log(log.text, known)) for log in evidence.logs),
        samples=processes,
    )


def masked_verdict(verdict: Verdict, evidence: Evidence) -> Verdict:
    """A verdict without the credentials that stand in the job and its pods by name: evidence of others may not be redacted."""
    known = credentials([evidence.job, *evidence.pods])

    def hidden(text: str) -> str:
        return masked(text, known)

    return msgspec.structs.replace(
        verdict,
        cause=hidden(verdict.cause),
        remedy=hidden(verdict.remedy),
        evidence=tuple(msgspec.structs.replace(one, text=hidden(one.text)) for one in verdict.evidence),
    )


def _known(evidence: Evidence, secrets: Collection[str]) -> set[str]:
    """Credentials by value: those of Secrets, also line by line, and those that stand in the objects by name."""
    known = credentials([evidence.job, *evidence.pods, *evidence.children])
    for value in secrets:
        known.update(part for part in (value, *value.splitlines()) if len(part) >= SHORTEST)
    return known


def _hidden(value: T, known: Collection[str]) -> T:
    return _walked(value, known)  # type: ignore[no-any-return]


def _walked(value: Any, known: Collection[str]) -> Any:
    if isinstance(value, str):
        return masked_log(value, known)
    if isinstance(value, dict):
        return _object(value, known)
    if isinstance(value, list | tuple):
        return type(value)(_walked(part, known) for part in value)
    return value


def _object(value: Json, known: Collection[str]) -> Json:
    found = {name: _walked(part, known) for name, part in value.items() if name not in NOISE and name != LAST_APPLIED}
    name, given = value.get("name"), value.get("value")
    if isinstance(name, str) and isinstance(given, str) and is_credential(name, given):
        found["value"] = HIDDEN
    return found
