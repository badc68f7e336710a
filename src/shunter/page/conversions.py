"""Conversions of v1 jobs for the Migration view, by the functions of `shunter migrate`: converted and proved in a thread, once
for each version of the job's spec and of the ConfigMaps that it names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.titles import title_of
from shunter.jobs.logs.visible_text import visible
from shunter.kube.client import Client
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.cleaning import digest, digest_of
from shunter.migrate.conversion.source.live import CLUSTER
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.moving.gathering import config_maps_of, named_config_maps
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import STAGES, UNPROVED, Proof
from shunter.migrate.survey.briefing.facts import Job, gathered
from shunter.migrate.survey.inventory.classes import JobClass
from shunter.operator.overview import is_finished

AT_ONCE = 20
"""How many jobs are converted by one call of `Conversions.of`; others follow with the next calls."""
CONFIG_MAP_SECONDS = 60.0
"""How often the ConfigMaps of a job are read again."""


class Candidate(NamedTuple):
    """A v1 job to convert, as JSON, with the options of its conversion."""

    title: str
    object: bytes
    key: tuple[str, bool, bytes]
    """What its conversion depends on besides ConfigMaps: a digest of what the user wrote, whether it has finished, the
    options."""
    options: Options
    names_config_maps: bool


class Conversion(NamedTuple):
    """What is shown of the conversion of one job. Credentials are masked."""

    job_class: JobClass
    findings: int
    """The number of findings that are not suppressed."""
    blocking: tuple[str, ...]
    """The messages of the blocking findings."""
    topics: tuple[str, ...]
    """The ids of the blocking findings."""
    proof: str


class _Known(NamedTuple):
    key: tuple[str, bool, bytes]
    config_maps: str
    """A digest of the ConfigMaps."""
    read: float
    """When they were read; monotonic clock, seconds."""
    conversion: Conversion


class Conversions:
    """The conversions of the jobs of a cluster, kept until a job, its options or its ConfigMaps change."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        """By the title of the job."""

    async def of(self, client: Client, candidates: Sequence[Candidate]) -> Mapping[str, Conversion]:
        """The conversions that are known, by the title of the job, after converting up to `AT_ONCE` of the others and of those
        whose ConfigMaps may have changed. May raise ApiError."""
        keys = {one.title: one.key for one in candidates}
        self._known = {title: found for title, found in self._known.items() if keys.get(title) == found.key}
        now = time.monotonic()
        missing = [one for one in candidates if one.title not in self._known]
        again = [one for one in candidates if one.title in self._known and self._is_due(one, now)]
        for one in [*missing, *again][:AT_ONCE]:
            await self._convert(client, one, now)
        return {title: found.conversion for title, found in self._known.items()}

    def _is_due(self, one: Candidate, now: float) -> bool:
        return one.names_config_maps and now - self._known[one.title].read >= CONFIG_MAP_SECONDS

    async def _convert(self, client: Client, one: Candidate, now: float) -> None:
        source = SourceObject(msgspec.json.decode(one.object), CLUSTER)
        others, unread = await named_config_maps(client, [source])
        mark, before = digest_of(msgspec.json.encode([others, unread])), self._known.get(one.title)
        if before is not None and before.config_maps == mark:
            self._known[one.title] = before._replace(read=now)
            return
        job = await asyncio.to_thread(looked_at, source, one.options, others)
        self._known[one.title] = _Known(one.key, mark, now, conversion_of(job, unread))


def candidate(job: Json, options: Options) -> Candidate:
    """`job` has its kind and apiVersion."""
    return Candidate(
        title_of(job),
        msgspec.json.encode(job),
        (digest(job), is_finished(job), msgspec.json.encode(options)),
        options,
        any(config_maps_of(job)),
    )


def looked_at(source: SourceObject, options: Options, others: Sequence[Json]) -> Job:
    """One job, converted, with its findings, proof and manifests; credentials are masked. Pure. `others` are the ConfigMaps that
    it names."""
    return gathered(converted([source], options, others), {}, datetime.now(UTC), is_live=True).jobs[0]


def conversion_of(job: Job, unread: Sequence[str]) -> Conversion:
    """What is shown of the conversion. Pure. `unread` names the ConfigMaps that may not be read."""
    standing = [finding for finding in findings_of(job) if not finding.suppressed]
    blocking = [finding for finding in standing if finding.is_blocking]
    return Conversion(
        job.entry.job_class,
        len(standing),
        tuple(visible(finding.message or finding.topic.title) for finding in blocking),
        tuple(dict.fromkeys(finding.topic.id for finding in blocking)),
        "; ".join(part for part in (_proof_text(job.proof), *(f"you may not read {one}" for one in unread)) if part),
    )


def findings_of(job: Job) -> Iterator[Finding]:
    """The findings of the conversion and of the proof."""
    yield from job.outcome.findings
    yield from job.proof.findings if job.proof is not None else ()


def _proof_text(proof: Proof | None) -> str:
    """The highest stage of the proof that holds, in words."""
    if proof is None:
        return ""
    if proof.reached is None:
        return "nothing holds"
    text = f"{proof.reached}: {STAGES[proof.reached]}"
    if proof.is_refuted:
        return f"{text}; the next stage does not hold"
    return f"{text}, {UNPROVED}" if proof.unproved else text
