"""How far a conversion is proved: stages, each of which requires those before it.

A proof claims no stage that it did not reach: before `runs`, the training of both jobs was not observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec
import yaml

from shunter.api.field_errors import FieldError
from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.trainer import runtime_validation, validation
from shunter.api.trainer.runtime import TrainingRuntime
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.yaml import load_all_yaml
from shunter.errors import InputError
from shunter.migrate.conversion.emit.job import text_of
from shunter.migrate.conversion.ledger import Manifest
from shunter.migrate.conversion.misspelt import OF_TEMPLATE
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.findings import Finding, Topic
from shunter.migrate.options import Options
from shunter.migrate.parallel import mapped
from shunter.migrate.paths import Path, path_text
from shunter.migrate.pods.admission import admitted_once, cel_errors, rule_errors, schema_errors, title, unknown_fields
from shunter.migrate.pods.sides import V2, runtime_of, v2_side
from shunter.migrate.proof.comparison import Comparison, compared
from shunter.migrate.proof.topics import NO_OBJECTS, NOT_THE_SAME_TEXT, REFUSED_BY_CEL, REFUSED_BY_SCHEMA, REFUSED_BY_WEBHOOK
from shunter.operator.trainer.go_types import go_decode_error
from shunter.operator.trainer.render import trainjob_errors

StageName = Literal["yaml", "schema", "cel", "webhooks", "objects", "pods", "server", "smoke", "runs"]
STAGES: dict[StageName, str] = {
    "yaml": "the text of the result parses to the objects that it was written from",
    "schema": "TrainJob and runtime match Trainer's schemas; their names and labels are valid",
    "cel": "TrainJob and runtime satisfy the CEL rules of those schemas",
    "webhooks": "Trainer's webhooks accept TrainJob and runtime",
    "objects": "the JobSet, Jobs and pods created from them are valid, names included",
    "pods": "pods, process groups and endings are those of v1, or differ for a reported reason",
    "server": "the cluster accepts everything in a dry run",
    "smoke": "one step of training runs on the embedded cluster",
    "runs": "a run of each side was compared",
}
"""From the lowest to the highest, with what holds once it is reached."""
UNPROVED = "but not how programs use names, ports or files that differ in v2"
"""What the proof of a job does not cover if its programs read such things."""

LEAST_CONVERSIONS = 10
"""Conversions for each process: fewer are not worth a fork."""


class StageResult(NamedTuple):
    """One stage that was tried."""

    stage: StageName
    findings: tuple[Finding, ...] = ()
    note: str = ""
    """What was found, or why it was not tried, in half a sentence."""
    was_tried: bool = True

    @property
    def holds(self) -> bool:
        """Whether it was tried and found nothing that blocks."""
        return self.was_tried and not any(finding.is_blocking for finding in self.findings)


@dataclass(frozen=True)
class Proof:
    """The results of the stages, from the lowest on; the first that does not hold is the last."""

    conversion: Conversion
    results: tuple[StageResult, ...]

    @property
    def reached(self) -> StageName | None:
        """The highest stage that holds; None if not even the lowest does."""
        held = [result.stage for result in self.results if result.holds]
        return held[-1] if held else None

    @property
    def holds(self) -> bool:
        """Whether every stage in it holds."""
        return all(result.holds for result in self.results)

    @property
    def is_refuted(self) -> bool:
        """Whether a stage was tried and does not hold."""
        return any(result.was_tried and not result.holds for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all stages, from the lowest on."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def unproved(self) -> tuple[Finding, ...]:
        """Where programs read what changes: equal pods do not show what the programs do with it. Empty once runs were compared,
        which do."""
        if any(result.stage == "runs" and result.holds for result in self.results):
            return ()
        own = (finding for finding in self.findings if finding.limits_proof)
        return (*self.conversion.unproved, *own)

    def with_suppressions(self, mark: Callable[[Iterable[Finding]], tuple[Finding, ...]]) -> Proof:
        """The proof with findings that users have suppressed marked as such."""
        return replace(self, results=tuple(result._replace(findings=mark(result.findings)) for result in self.results))

    def with_result(self, result: StageResult) -> Proof:
        """The proof with one more stage."""
        assert self.holds, "a stage is tried when all before it hold"
        return replace(self, results=(*self.results, result))


def proof_of(conversion: Conversion, options: Options = Options()) -> Proof:  # noqa: B008
    """Proves a conversion up to the stage `pods`, the highest without a cluster. Never raises."""
    proof = Proof(conversion, ())
    for stage, tried in _TRIED.items():
        proof = proof.with_result(StageResult(stage, tuple(tried(conversion, _Reporter(conversion, options)))))
        if not proof.holds:
            return proof
    comparison = compared(conversion, options)
    result = StageResult("pods", comparison.findings, _note(comparison), was_tried=comparison.matched is not None)
    return proof.with_result(result)


def proofs_of(
    conversions: Sequence[Conversion], options: Options, done: Callable[[int], None] = lambda number: None
) -> list[Proof]:
    """Proves each conversion as far as possible without a cluster. Calls `done` with the number newly done."""
    results = mapped(
        lambda conversion: proof_of(conversion, options).results,
        conversions,
        least=LEAST_CONVERSIONS,
        known=conversions,
        done=done,
    )
    return [Proof(conversion, own) for conversion, own in zip(conversions, results, strict=True)]


class _Reporter:
    """Makes findings about fields of the result, located at their origin in the source."""

    def __init__(self, conversion: Conversion, options: Options) -> None:
        self._conversion = conversion
        self._accepted = options.accepted

    def __call__(
        self, topic: Topic, message: str, *, manifest: Manifest | None = None, field: str = "", remedy: str = ""
    ) -> Finding:
        source, path = self._conversion.source, self._origin(manifest, field)
        target = f"{manifest} {field}" if manifest else ""
        accepted = topic.suppression_reason(self._accepted)
        return Finding(topic, source.title, source.place(path), path, message, remedy, target, accepted)

    def _origin(self, manifest: Manifest | None, field: str) -> Path:
        """The field of the source that became `field` of the result, or the closest parent of it."""
        best: tuple[int, Path] = (0, ())
        for row in self._conversion.rows:
            if row.target is None or row.target.manifest != manifest:
                continue
            for cut in range(len(row.target.path)):
                there = path_text(row.target.path[: len(row.target.path) - cut])
                if field.startswith(there) and len(there) > best[0]:
                    best = len(there), row.path[: len(row.path) - cut]
        return best[1]


def _manifests(conversion: Conversion) -> Iterator[tuple[Manifest, Json]]:
    if conversion.runtime is not None:
        yield "TrainingRuntime", conversion.runtime
    yield "TrainJob", conversion.train_job


def _yaml(conversion: Conversion, report: _Reporter) -> Iterator[Finding]:
    text = text_of(conversion)
    try:
        found = [obj for obj in load_all_yaml(text) if obj is not None]
    except yaml.YAMLError as error:
        yield report(NOT_THE_SAME_TEXT, f"The result is not YAML: {' '.join(str(error).split())}.")
        return
    if found != [obj for _, obj in _manifests(conversion)]:
        yield report(NOT_THE_SAME_TEXT, "The text of the result differs from the objects that it was written from.")


def _schema(conversion: Conversion, report: _Reporter) -> Iterator[Finding]:
    for manifest, obj in _manifests(conversion):
        try:
            unknown, faults, broken_rules = _schema_faults(msgspec.json.encode(obj))
        except InputError as error:
            yield report(REFUSED_BY_SCHEMA, error.message, manifest=manifest)
            continue
        accepted = {finding.path: finding.suppressed for finding in conversion.findings if finding.topic.id == OF_TEMPLATE.id}
        for field in unknown:
            finding = report(REFUSED_BY_SCHEMA, f"{title(obj)} has no field {field}.", manifest=manifest, field=field)
            # Accepting an unknown field of v1 accepts it in the result, where it is passed on.
            yield finding._replace(suppressed=accepted.get(finding.path, ""))
        yield from _errors(REFUSED_BY_SCHEMA, manifest, obj, faults, report)
        for fault in broken_rules:
            yield report(REFUSED_BY_SCHEMA, f"{title(obj)}: {fault}.", manifest=manifest, field=fault.partition(":")[0])


def _cel(conversion: Conversion, report: _Reporter) -> Iterator[Finding]:
    for manifest, obj in _manifests(conversion):
        yield from _errors(REFUSED_BY_CEL, manifest, obj, _cel_faults(msgspec.json.encode(obj)), report)


def _webhooks(conversion: Conversion, report: _Reporter) -> Iterator[Finding]:
    """Trainer's webhooks validate the runtime by itself, and the TrainJob together with its runtime."""
    if conversion.runtime is not None:
        runtime = msgspec.convert(admitted_once(msgspec.json.encode(conversion.runtime)), TrainingRuntime)
        yield from _errors(REFUSED_BY_WEBHOOK, "TrainingRuntime", conversion.runtime, runtime_validation.errors(runtime), report)
    obj = conversion.train_job
    if unreadable := go_decode_error(obj):
        yield report(REFUSED_BY_WEBHOOK, f"{title(obj)}: {unreadable}.", manifest="TrainJob")
        return
    stored = admitted_once(msgspec.json.encode(obj))
    job = msgspec.convert(stored, TrainJob)
    if unsupported := validation.unsupported_runtime(job.spec.runtime_ref):
        yield report(REFUSED_BY_WEBHOOK, f"{title(obj)}: {unsupported}.", manifest="TrainJob", field="spec.runtimeRef")
        return
    try:
        errors = trainjob_errors(job, runtime_of(stored, conversion.runtime))
    except InputError as error:
        yield report(REFUSED_BY_WEBHOOK, error.message, manifest="TrainJob", remedy=error.remedy)
        return
    yield from _errors(REFUSED_BY_WEBHOOK, "TrainJob", obj, errors, report)


def _objects(conversion: Conversion, report: _Reporter) -> Iterator[Finding]:
    """Controllers create these objects later: a rejection there shows in events only, and is retried forever."""
    try:
        side = v2_side(conversion.train_job, conversion.runtime)
    except InputError as error:
        yield report(NO_OBJECTS, error.message, remedy=error.remedy)
        return
    for obj in _created_objects(side):
        faults = [*map(str, cel_errors(obj)), *rule_errors(obj)]
        for fault in dict.fromkeys(faults):
            yield report(NO_OBJECTS, f"{title(obj)} would be rejected: {fault}.")


def _created_objects(side: V2) -> Iterator[Json]:
    """The JobSet, its Jobs, and the first and last pod of each Job: the others differ from these in their index only."""
    yield side.jobset
    yield from side.jobs
    pods: dict[str, list[Json]] = {}
    for replica in side.replicas:
        pods.setdefault(replica.pod["metadata"]["ownerReferences"][0]["name"], []).append(replica.pod)
    for found in pods.values():
        yield from (found[0], found[-1]) if len(found) > 1 else found


@lru_cache(maxsize=256)
def _schema_faults(manifest: bytes) -> tuple[list[str], list[FieldError], list[str]]:
    """Unknown fields, errors of the schema, and broken rules of all objects. Cached, as many jobs share a runtime. Raises
    RefusedError."""
    unknown, stored = unknown_fields(msgspec.json.decode(manifest)), admitted_once(manifest)
    return unknown, schema_errors(stored), rule_errors(stored)


@lru_cache(maxsize=256)
def _cel_faults(manifest: bytes) -> list[FieldError]:
    return cel_errors(admitted_once(manifest))


def _errors(topic: Topic, manifest: Manifest, obj: Json, errors: list[FieldError], report: _Reporter) -> Iterator[Finding]:
    for error in errors:
        yield report(topic, f"{title(obj)}: {error}.", manifest=manifest, field=error.field.lstrip("."))


def _note(comparison: Comparison) -> str:
    if comparison.matched is None:
        return ""
    counts: dict[str, int] = {}
    for difference in comparison.differences:
        counts[difference.verdict] = counts.get(difference.verdict, 0) + 1
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("expected", "reported", "unexplained") if verdict in counts)
    return f"{count(len(comparison.matched.pairs), 'pod')} on each side; differences: {listed or 'none'}"


_TRIED: dict[StageName, Callable[[Conversion, _Reporter], Iterator[Finding]]] = {
    "yaml": _yaml,
    "schema": _schema,
    "cel": _cel,
    "webhooks": _webhooks,
    "objects": _objects,
}
