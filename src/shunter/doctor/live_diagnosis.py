"""Diagnoses a job in a cluster: reads API evidence, samples stacks if needed and allowed, and reports.

found = await diagnose_job(client, "bert", "team", commands=Commands(connection))
[verdict.cause for verdict in found.report.verdicts]
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.collecting import api_evidence_and_credentials
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import NO_EXEC, Evidence, Missing
from shunter.doctor.job_lookup import as_job, readable_job
from shunter.doctor.redaction import redacted
from shunter.doctor.sampling import TWICE, Sampler, Sampling
from shunter.doctor.verdicts import Report, Seconds
from shunter.kube.client import Client
from shunter.kube.pods.remote_command import Commands
from shunter.operator.overview import overview

WATCH_SECONDS = 5.0
"""Between two diagnoses of a job that is watched."""


class Diagnosis(NamedTuple):
    """The evidence, without credentials, and the report about it."""

    evidence: Evidence
    report: Report


async def diagnose_job(
    client: Client,
    name: str,
    namespace: str = "",
    *,
    commands: Commands | None = None,
    sampling: Sampling = TWICE,
) -> Diagnosis:
    """Why the job `NAME`, `KIND/NAME` or `jobset/NAME` does not train, hangs or failed. Without `commands` nothing is run in
    pods, so no stacks are sampled. InputError if there is no such job, or more than one."""
    _, job = await readable_job(client, name, namespace)
    return await diagnosis(client, commands, job, sampling)


async def watch_job(
    client: Client,
    name: str,
    namespace: str = "",
    *,
    commands: Commands | None = None,
    sampling: Sampling = TWICE,
) -> AsyncIterator[Report]:
    """Diagnoses the job every WATCH_SECONDS: a report whenever the verdicts change or it has been undecided twice, and one when
    the job has ended. Stops then, or when the job is deleted."""
    resource, job = await readable_job(client, name, namespace)
    before: list[object] = [False]
    was_undecided = False
    while True:
        report = (await diagnosis(client, commands, job, sampling)).report
        found: list[object] = [(verdict.id, verdict.ranks, verdict.confidence) for verdict in report.verdicts]
        # Once is normal: ranks that have only just started run no Python yet.
        found.append(report.is_undecided and was_undecided)
        was_undecided = report.is_undecided
        if found != before or overview(job).is_finished:
            yield report
        if overview(job).is_finished:
            return
        before = found
        await asyncio.sleep(WATCH_SECONDS)
        current = await client.find(resource, job["metadata"]["name"], job["metadata"]["namespace"])
        if current is None or current["metadata"]["uid"] != job["metadata"]["uid"]:
            return
        job = as_job(resource, current)


async def diagnosis(client: Client, commands: Commands | None, job: Json, sampling: Sampling) -> Diagnosis:
    """Diagnoses a job; stacks are sampled only if it runs and no cause is certain. Without `commands` nothing is run in pods."""
    start = time.perf_counter()
    evidence, secrets = await api_evidence_and_credentials(client, job)
    read = time.perf_counter()
    report = diagnose(evidence, evidence.at)
    rules, entered = report.seconds.rules, 0.0
    if may_hang(evidence, report):
        if commands is None:
            why = Missing(what="stacks", why=NO_EXEC, is_refused=False)
            evidence = msgspec.structs.replace(evidence, missing=(*evidence.missing, why))
        else:
            started = time.perf_counter()
            evidence = redacted(await Sampler(client, commands, evidence, sampling).sampled(), secrets)
            entered = time.perf_counter() - started
        report = diagnose(evidence, evidence.at)
        rules += report.seconds.rules
    return Diagnosis(evidence, msgspec.structs.replace(report, seconds=Seconds(api=read - start, exec=entered, rules=rules)))


def may_hang(evidence: Evidence, report: Report) -> bool:
    """Whether the job may hang, so that stacks help: it runs in full, and no cause is certain."""
    case = Case(evidence, evidence.at)
    is_known = any(verdict.confidence == "certain" for verdict in report.verdicts)
    return case.is_running_in_full and not is_known
