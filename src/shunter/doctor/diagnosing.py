"""Evidence in, report out. Pure: the same evidence at the same moment gives the same report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.early import too_early
from shunter.doctor.evidence import Evidence, Missing
from shunter.doctor.rank_locations import rank_count
from shunter.doctor.redaction import masked_verdicts
from shunter.doctor.rules import RULES
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import CONFIDENCES, NotChecked, Report, Seconds, Verdict
from shunter.jobs.failure_record import cell, failure_record
from shunter.operator import causes


def diagnose(evidence: Evidence, now: datetime, rules: Sequence[Rule] = RULES) -> Report:
    """What is wrong with the job: certain verdicts first, then likely, then possible ones, each in the order of the rules.
    Without the credentials in the evidence."""
    started = time.perf_counter()
    case = Case(evidence, now)
    found = [(rule, verdict) for rule in rules for verdict in rule.judge(case)]
    explained: dict[str, set[str]] = {}
    for rule, verdict in found:
        for pod in verdict.pods if rule.explains else ():
            explained.setdefault(pod, set()).add(rule.id)
    again = {pod for rule, verdict in found if rule.id == "K07" for pod in verdict.pods}
    kept = [verdict for rule, verdict in found if not _is_explained(rule, verdict, explained, again)]
    kept.sort(key=lambda verdict: CONFIDENCES.index(verdict.confidence))
    row = case.overview
    unknown = None if kept else too_early(case)
    return Report(
        job=row.title,
        state=row.state,
        ranks=rank_count(case.job, case.ranks, case.jobset, case.hosts, case.pods),
        at=now,
        verdicts=masked_verdicts(kept, evidence),
        not_checked=(*_not_checked(case, rules), *([unknown] if unknown else [])),
        is_well=row.state == "Succeeded" or (row.state != "Failed" and case.runs_in_full),
        failures=cell(failure_record(case.job), now),
        seconds=Seconds(rules=time.perf_counter() - started),
    )


def diagnose_from_api(job: Json, evidence: causes.Evidence, now: datetime) -> Report:
    """The diagnosis from what `jobs.evidence` reads, without logs. For `describe`, `jobs` and `run`."""
    return diagnose(evidence_from_api(job, evidence, now), now)


def evidence_from_api(job: Json, evidence: causes.Evidence, now: datetime) -> Evidence:
    """What `jobs.evidence` reads as the doctor's evidence, without logs."""
    missing = tuple(Missing(what=kind, why="it could not be listed") for kind in evidence.unread)
    return Evidence(
        job=job,
        at=now,
        pods=tuple(evidence.pods),
        events=tuple(evidence.events),
        children=tuple(evidence.children),
        workloads=None if evidence.workloads is None else tuple(evidence.workloads),
        position=evidence.position,
        missing=(
            *missing,
            *(Missing(what=what, why="not asked for", is_refused=False) for what in ("persistentvolumeclaims", "logs")),
        ),
    )


def _is_explained(rule: Rule, verdict: Verdict, explained: Mapping[str, set[str]], again: set[str]) -> bool:
    """Whether other verdicts say why the pods of this one ended, if this one only says how."""
    if not rule.yields or not verdict.pods:
        return False
    others = {pod for pod, ids in explained.items() if ids - {rule.id}}
    return set(verdict.pods) <= (others if rule.id == "K07" else others | again)


def _not_checked(case: Case, rules: Sequence[Rule]) -> tuple[NotChecked, ...]:
    """The sources that are missing, and the rules that need them in this case."""
    found = []
    for one in case.evidence.missing:
        without = [rule for rule in rules if one.what in rule.needs(case)]
        if without:
            ids, decides = tuple(rule.id for rule in without), any(rule.decides for rule in without)
            found.append(NotChecked(what=one.what, why=one.why, rules=ids, is_refused=one.is_refused, decides=decides))
    return tuple(found)
