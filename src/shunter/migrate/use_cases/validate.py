"""Proves the conversions of v1 jobs (`proof.proving`)."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.conversion import batch as batches
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import Input, read
from shunter.migrate.conversion.suppression import Entry
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.proof.existing import each_with_existing, with_existing
from shunter.migrate.proof.proving import Proof, proofs_of
from shunter.migrate.use_cases.progress import Progress, silent


@dataclass(frozen=True)
class Provable:
    """Converted jobs, in the order of the input."""

    conversions: list[Conversion]
    faults: list[Finding]
    """Findings about the input, such as files that could not be read."""
    others: list[Json]
    """The other objects of the input."""


def validate(
    paths: Sequence[str | Path],
    options: Options = Options(),  # noqa: B008
    *,
    jobs: Sequence[str] = (),
    suppressions: Path | None = None,
    progress: Progress = silent,
) -> tuple[list[Proof], list[Finding]]:
    """The proof of each job's conversion, and findings about input that could not be read.

    `jobs` are names (NAME or KIND/NAME) of those to prove, all when none is given. `suppressions` is a `migration.yaml`. Raises
    InputError for a path that cannot be read, and a name that no job has.
    """
    entries = suppression.read(suppressions) if suppressions else ()
    with progress("reading files", None) as advance:
        given = read([str(path) for path in paths], advance)
    found = provable(given, jobs, options, entries=entries, progress=progress)
    return proved(found.conversions, options, entries, progress), found.faults


def provable(
    given: Input,
    names: Sequence[str],
    options: Options,
    *,
    faults: Sequence[Finding] = (),
    entries: Sequence[Entry] = (),
    progress: Progress = silent,
) -> Provable:
    """The jobs of these names, all when there are none, converted. Raises InputError for a name that no job has."""
    jobs = _named(given.jobs, names)
    with progress("converting", len(jobs)) as advance:
        batch = batches.converted(jobs, options, given.other_objects, advance)
    today = datetime.now(UTC).date()
    batch, input_findings = suppression.suppressed(batch, [*given.findings, *given.unrendered, *faults], entries, today)
    batch = shared_in(given, batch)
    unread = [finding for outcome in batch.outcomes if outcome.conversion is None for finding in outcome.findings]
    found = [outcome.conversion for outcome in batch.outcomes if outcome.conversion is not None]
    # Thousands of manifests and schemas live until the end: frozen, they are not traversed by each garbage collection.
    gc.freeze()
    return Provable(found, [*input_findings, *unread], [other.value for other in given.others])


def in_place_of_ours(found: Provable, objects: Sequence[Json], unreadable: Sequence[Finding] = ()) -> Provable:
    """Replaces our results by TrainJobs and runtimes that others wrote; a job without one gets a finding."""
    if len(found.conversions) == 1:
        try:
            conversions = [with_existing(conversion, list(objects)) for conversion in found.conversions]
        except InputError as error:
            causes = [f"{one.place}: {one.message}" for one in unreadable if one.topic.severity != "info"]
            raise InputError(" ".join([error.message, *causes]), error.remedy) from error
        return Provable(conversions, [*found.faults, *unreadable], found.others)
    conversions, missing = each_with_existing(found.conversions, list(objects))
    return Provable(conversions, [*found.faults, *unreadable, *missing], found.others)


def proved(
    conversions: Sequence[Conversion],
    options: Options,
    entries: Sequence[Entry] = (),
    progress: Progress = silent,
) -> list[Proof]:
    """The proof of each, as far as possible without a cluster."""
    today = datetime.now(UTC).date()
    with progress("proving", len(conversions)) as advance:
        proofs = proofs_of(conversions, options, advance)
    return [proof.with_suppressions(lambda findings: suppression.marked(findings, entries, today)) for proof in proofs]


def _named(jobs: list[SourceObject], names: Sequence[str]) -> list[SourceObject]:
    if not names:
        return jobs
    found = []
    for name in names:
        kind, _, own = name.rpartition("/")
        meant = [job for job in jobs if job.name == own and kind.lower() in ("", job.kind.lower())]
        if not meant:
            there = ", ".join(f"{job.kind}/{job.name}" for job in jobs[:5]) or "none"
            raise InputError(f"{name}: no such v1 job in the input; there are {there}.", "Write KIND/NAME or NAME.")
        found += meant
    return found
