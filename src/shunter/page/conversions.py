"""What v1 jobs would become, for the Migration view: converted and proved in another thread, once for each version of what their
users wrote. Decides nothing that `shunter migrate` does not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.jobs.logs.visible_text import visible
from shunter.migrate.conversion.batch import Outcome, converted
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.source import live
from shunter.migrate.findings import Finding
from shunter.migrate.moving.steps import V1_JOBS
from shunter.migrate.options import Options
from shunter.migrate.proof.ladder import RUNGS, UNPROVED, Ladder, climbed
from shunter.migrate.survey.inventory.classes import JobClass
from shunter.migrate.survey.inventory.entry import entry

AT_ONCE = 20
"""Jobs of one look; more are looked at next time."""
NOT_CHECKED = "not checked"
"""The state of a job that has not been looked at yet, or could not be."""


class Candidate(NamedTuple):
    """A v1 job as it is kept: what its user wrote as JSON, and the options that are meant for it."""

    title: str
    object: bytes
    digest: str
    options: Options


class Conversion(NamedTuple):
    """What is shown of the conversion of one job."""

    job_class: JobClass
    why: str
    """Why it is of this class."""
    findings: int
    """That stand."""
    blocking: tuple[str, ...]
    """The blocking ones in prose."""
    topics: tuple[str, ...]
    """Ids of the blocking ones."""
    proof: str


class Conversions:
    """By the title of the job."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[str, bytes], Conversion]] = {}

    async def of(self, candidates: Sequence[Candidate]) -> Mapping[str, Conversion]:
        """Those that are known by now; looks at some of the others."""
        keys = {one.title: (one.digest, msgspec.json.encode(one.options)) for one in candidates}
        self._known = {title: found for title, found in self._known.items() if keys.get(title) == found[0]}
        missing = [one for one in candidates if one.title not in self._known][:AT_ONCE]
        for one in missing:
            self._known[one.title] = keys[one.title], await asyncio.to_thread(_converted, one)
        return {title: found for title, (_, found) in self._known.items()}


def candidate(job: Json, options: Options) -> Candidate:
    """`job` has its kind and apiVersion."""
    metadata = job["metadata"]
    title = f"{job['kind']} {metadata['namespace']}/{metadata['name']}"
    return Candidate(title, msgspec.json.encode(job), digest(job), options)


def outcome_of(job: Json, options: Options) -> Outcome:
    """The conversion of one job that stands alone. Pure."""
    return converted([live.source(job, V1_JOBS[job["kind"]])], options).outcomes[0]


def proof_text(ladder: Ladder | None) -> str:
    """How far the proof reaches, in half a sentence."""
    if ladder is None:
        return ""
    if ladder.reached is None:
        return "nothing holds"
    text = f"{ladder.reached}: {RUNGS[ladder.reached]}"
    if ladder.is_refuted:
        return f"{text}; what is above does not hold"
    return f"{text}, {UNPROVED}" if ladder.unproved else text


def _converted(one: Candidate) -> Conversion:
    outcome = outcome_of(msgspec.json.decode(one.object), one.options)
    row = entry(outcome, datetime.now(UTC))
    standing = [finding for finding in outcome.findings if not finding.suppressed]
    blocking = [finding for finding in standing if finding.is_blocking]
    ladder = climbed(outcome.conversion, one.options) if outcome.conversion is not None else None
    refuting = [finding for finding in (ladder.findings if ladder is not None else ()) if finding.is_blocking]
    return Conversion(
        row.job_class,
        visible(row.reasons[0].why) if row.reasons else "",
        len(standing),
        tuple(_prose(finding) for finding in (*blocking, *refuting)),
        tuple(dict.fromkeys(finding.topic.id for finding in (*blocking, *refuting))),
        proof_text(ladder),
    )


def _prose(finding: Finding) -> str:
    return visible(finding.message or finding.topic.title)
