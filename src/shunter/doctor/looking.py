"""One look at a job: API evidence, then stacks where they are needed and allowed, then the report."""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.collecting import api_evidence
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Missing
from shunter.doctor.redaction import redacted
from shunter.doctor.verdicts import Report, Seconds
from shunter.kube.client import Client
from shunter.kube.pods.remote_command import Commands


class Look(NamedTuple):
    """What was seen, without credentials, and what it says."""

    evidence: Evidence
    report: Report


async def look(client: Client, commands: Commands | None, job: Json, *, sample: float, allow_copy: bool = False) -> Look:
    """Looks at a job; stacks are taken, `sample` seconds apart, only of one that runs and has no certain cause. Without
    `commands` no pod is entered."""
    begun = time.perf_counter()
    evidence = await api_evidence(client, job)
    read = time.perf_counter()
    report = diagnose(evidence, evidence.at)
    rules, entered = report.seconds.rules, 0.0
    if may_hang(evidence, report):
        if commands is None:
            why = Missing(what="stacks", why="--no-exec", is_refused=False)
            evidence = msgspec.structs.replace(evidence, missing=(*evidence.missing, why))
        else:
            from shunter.doctor.sampling import Sampler

            started = time.perf_counter()
            evidence = redacted(await Sampler(client, commands, evidence, allow_copy=allow_copy).sampled(sample))
            entered = time.perf_counter() - started
        report = diagnose(evidence, evidence.at)
        rules += report.seconds.rules
    return Look(evidence, msgspec.structs.replace(report, seconds=Seconds(api=read - begun, exec=entered, rules=rules)))


def may_hang(evidence: Evidence, report: Report) -> bool:
    """Whether stacks may say something: the job runs in full, and nothing certain is known."""
    case = Case(evidence, evidence.at)
    is_known = any(verdict.confidence == "certain" for verdict in report.verdicts)
    return case.overview.state == "Running" and case.runs_in_full and not is_known
