"""The content of the pages, counted once. Pure: everything read from files and clusters is an argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
import yaml

from shunter.api.meta import Json
from shunter.api.secrets.masking import HIDDEN, credentials, masked
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.conversion.emit.job import plain_text, written
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import Proof, proof_of
from shunter.migrate.proof.stages.runs import RunComparison, with_comparisons
from shunter.migrate.survey.briefing.masking import masked_manifest
from shunter.migrate.survey.inventory.classes import JobClass
from shunter.migrate.survey.inventory.fleet import Fleet, fleet
from shunter.migrate.survey.inventory.row import Row, row_of


class Readiness(msgspec.Struct, frozen=True):
    """The output of `shunter migrate assess -o json`."""

    verdict: Literal["READY", "PARTIAL", "BLOCKED"]
    next: tuple[str, ...] = ()


class Job(NamedTuple):
    """One job with its conversion, proof and runs."""

    entry: Row
    outcome: Outcome
    before: str
    """Its manifest, as the user wrote it."""
    runtime: str
    """The manifest of its own runtime; empty if there is none."""
    train_job: str
    proof: Proof | None
    """Its proof, including comparisons of its runs; None if it was not converted."""
    runs: tuple[RunComparison, ...]
    is_masked: bool = False
    """Whether its texts contained credentials, which are masked."""

    @property
    def is_proved(self) -> bool:
        """Whether its pods are proved equal to v1's, and none of its programs reads something that changes (suppressed findings
        about that do not count)."""
        if self.proof is None or self.unproved:
            return False
        return any(result.stage == "pods" and result.holds for result in self.proof.results)

    @property
    def unproved(self) -> tuple[Finding, ...]:
        """The findings about programs that read something that changes, unless suppressed or resolved by a comparison of runs."""
        if self.proof is None or not self.proof.unproved:
            return ()
        findings = (*self.outcome.findings, *self.proof.findings)
        return tuple(finding for finding in findings if finding.limits_proof and not finding.suppressed)

    @property
    def is_refuted(self) -> bool:
        """Whether a stage of its proof does not hold, including the comparison of its runs."""
        return self.proof is not None and self.proof.is_refuted


class Lines(NamedTuple):
    """The numbers of lines of YAML of the converted jobs."""

    before: int
    train_jobs: int
    runtimes: int
    """Each runtime counts once: jobs with equal ones share it."""
    runtime_count: int

    @property
    def saved(self) -> float:
        """The share of lines saved; negative if there are more than before."""
        return (self.before - self.train_jobs - self.runtimes) / self.before if self.before else 0.0

    @property
    def saved_per_job(self) -> float:
        """The lines saved per job without runtimes: what a user saves for each further job with an existing runtime."""
        return (self.before - self.train_jobs) / self.before if self.before else 0.0


class Facts(NamedTuple):
    """The input of all pages: the same facts give the same pages."""

    fleet: Fleet
    jobs: tuple[Job, ...]
    """In the order of the fleet's rows."""
    lines: Lines
    faults: tuple[Finding, ...]
    """Findings about the input itself."""
    references: tuple[Finding, ...] | None
    """The findings of a scan; None if there was none."""
    readiness: Readiness | None
    """The assessment of the cluster; None if there was none."""
    is_live: bool
    made: datetime

    @property
    def unfinished(self) -> list[Job]:
        """All jobs except those of the class `finished`."""
        return [job for job in self.jobs if job.entry.job_class != "finished"]

    @property
    def converted(self) -> list[Job]:
        """Unfinished jobs with a usable result."""
        return [job for job in self.unfinished if job.outcome.conversion is not None and not job.outcome.is_blocked]

    @property
    def standing_faults(self) -> list[Finding]:
        """The faults that need action, blocking ones first."""
        return sorted(_standing(self.faults), key=lambda fault: not fault.is_blocking)

    @property
    def standing_references(self) -> list[Finding] | None:
        """The findings of the scan that need action; None if there was no scan."""
        return None if self.references is None else _standing(self.references)

    @property
    def blocking_faults(self) -> list[Finding]:
        """The faults because of which jobs may be missing from the report."""
        return [fault for fault in self.faults if fault.is_blocking]

    def of_class(self, *wanted: JobClass) -> list[Job]:
        """The jobs of any of these classes, in the order of `jobs`."""
        return [job for job in self.jobs if job.entry.job_class in wanted]


def _standing(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.suppressed and finding.topic.severity != "info"]


def gathered(
    batch: Batch,
    insides: Mapping[int, str],
    now: datetime,
    *,
    faults: Sequence[Finding] = (),
    references: Sequence[Finding] | None = None,
    runs: Sequence[RunComparison] = (),
    readiness: Readiness | None = None,
    is_live: bool = False,
    mark: Callable[[Iterable[Finding]], tuple[Finding, ...]] = tuple,
    advance: Callable[[int], None] = lambda count: None,
) -> Facts:
    """The facts about a batch. `mark` marks suppressed findings of proofs; `advance` is called after each job."""
    jobs = []
    for outcome in batch.outcomes:
        row = row_of(outcome, now, inside=insides.get(id(outcome.source), ""))
        jobs.append(_job(row, outcome, batch.options, runs, mark))
        advance(1)
    lines = _lines(jobs)
    jobs = [_masked(job) for job in jobs]
    jobs.sort(key=lambda job: (job.entry.namespace, job.entry.kind, job.entry.name, job.entry.place))
    masked_faults = _masked_findings(faults, ())
    masked_references = None if references is None else _masked_findings(references, ())
    entries = fleet([job.entry for job in jobs])
    return Facts(entries, tuple(jobs), lines, masked_faults, masked_references, readiness, is_live, now)


def _job(
    row: Row,
    outcome: Outcome,
    options: Options,
    runs: Sequence[RunComparison],
    mark: Callable[[Iterable[Finding]], tuple[Finding, ...]],
) -> Job:
    conversion = outcome.conversion
    own = tuple(run for run in runs if run.is_about(row.title))
    if conversion is None:
        return Job(row, outcome, _before(outcome.source), "", "", None, own)
    texts = written(conversion, is_whole_document=False)
    proof = with_comparisons(proof_of(conversion, options).with_suppressions(mark), runs)
    return Job(row, outcome, _before(outcome.source), texts.runtime, texts.train_job, proof, own)


def _before(source: SourceObject) -> str:
    """The text of a manifest in its file; for an object without a file, the fields that its user wrote."""
    if source.node is not None and source.text:
        lines = source.text.split("\n")
        start, end = source.node.start_mark, source.node.end_mark
        # A mapping in block style ends where the next token begins, on a later line.
        last = end.line + bool(lines[end.line][: end.column].strip()) if end.line < len(lines) else end.line
        below = [line.removeprefix(" " * start.column) for line in lines[start.line + 1 : last]]
        return "\n".join([lines[start.line][start.column :], *below]).rstrip() + "\n"
    value: Json = source.value
    return plain_text(clean(value) if isinstance(value.get("metadata"), dict) else value)


def _masked(job: Job) -> Job:
    """The job with credentials masked in everything that a page shows."""
    known = credentials(job.outcome.source.value)
    before, runtime, train_job = (_masked_manifest(text, known) for text in (job.before, job.runtime, job.train_job))
    if before == HIDDEN:
        # A part of a document that is not valid YAML by itself.
        before = _masked_manifest(plain_text(job.outcome.source.value), known)
    if not known and (before, runtime, train_job) == (job.before, job.runtime, job.train_job):
        return job
    reasons = tuple(reason._replace(why=masked(reason.why, known)) for reason in job.entry.reasons)
    proof = job.proof
    if proof is not None:
        results = (
            result._replace(findings=_masked_findings(result.findings, known), note=masked(result.note, known))
            for result in proof.results
        )
        proof = replace(proof, results=tuple(results))
    return job._replace(
        entry=msgspec.structs.replace(job.entry, reasons=reasons),
        outcome=msgspec.structs.replace(job.outcome, findings=_masked_findings(job.outcome.findings, known)),
        before=before,
        runtime=runtime,
        train_job=train_job,
        proof=proof,
        is_masked=True,
    )


def _masked_manifest(text: str, secrets: Collection[str]) -> str:
    try:
        return masked_manifest(text, secrets)
    except yaml.YAMLError:
        return HIDDEN


def _masked_findings(findings: Iterable[Finding], secrets: Collection[str]) -> tuple[Finding, ...]:
    return tuple(
        finding._replace(message=masked(finding.message, secrets), remedy=masked(finding.remedy, secrets)) for finding in findings
    )


def _lines(jobs: Sequence[Job]) -> Lines:
    before = train_jobs = 0
    runtimes: dict[str, int] = {}
    for job in jobs:
        if job.train_job and not job.outcome.is_blocked:
            before += _count(job.before)
            train_jobs += _count(job.train_job)
            if job.runtime:
                runtimes[job.runtime] = _count(job.runtime)
    return Lines(before, train_jobs, sum(runtimes.values()), len(runtimes))


def _count(text: str) -> int:
    """The number of lines that are neither empty nor comments."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())
