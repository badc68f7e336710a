"""How far a conversion is proved: rungs, each of which presupposes those below it.

Nothing is called validated for a rung that was not reached: below `runs`, the training of both jobs was not observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec
import yaml

from shunter.api.field_errors import FieldError
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
from shunter.migrate.paths import Path, shown
from shunter.migrate.pods.admission import admitted_once, cel_errors, rule_errors, schema_errors, title, unknown_fields
from shunter.migrate.pods.sides import V2, runtime_of, v2_side
from shunter.migrate.proof.comparison import Comparison, compared
from shunter.migrate.proof.topics import NO_OBJECTS, NOT_THE_SAME_TEXT, REFUSED_BY_CEL, REFUSED_BY_SCHEMA, REFUSED_BY_WEBHOOK
from shunter.operator.trainer.go_types import go_decode_error
from shunter.operator.trainer.render import trainjob_errors

RungName = Literal["yaml", "schema", "cel", "webhooks", "objects", "pods", "server", "smoke", "runs"]
RUNGS: dict[RungName, str] = {
    "yaml": "the text of the result is read again as the objects that it was made of",
    "schema": "TrainJob and runtime fit the schemas of Trainer, names and labels the rules of all objects",
    "cel": "they keep the CEL rules of those schemas",
    "webhooks": "Trainer's webhooks let them pass",
    "objects": "JobSet, Jobs and pods that follow keep the rules of their kinds, names included",
    "pods": "pods, process groups and endings are those of v1, or differ for a reported reason",
    "server": "the cluster takes everything in a dry run",
    "smoke": "one step of training runs on the embedded cluster",
    "runs": "a run of each side was compared",
}
"""From the lowest to the highest, and what is true there."""
UNPROVED = "but not how programs use names, ports or files that differ in v2"
"""How far the proof of a job reaches in which programs read such."""

LEAST_CONVERSIONS = 10
"""For whose proof another process pays."""


class Step(NamedTuple):
    """One rung that was tried."""

    rung: RungName
    findings: tuple[Finding, ...] = ()
    note: str = ""
    """What was seen there, or why it was not tried, in half a sentence."""
    was_tried: bool = True

    @property
    def holds(self) -> bool:
        """Whether it was tried, and nothing that it found blocks."""
        return self.was_tried and not any(finding.is_blocking for finding in self.findings)


@dataclass(frozen=True)
class Ladder:
    """`steps` from the lowest rung on; the first that does not hold is the last."""

    conversion: Conversion
    steps: tuple[Step, ...]

    @property
    def reached(self) -> RungName | None:
        """The highest rung that holds; None when not even the lowest does."""
        held = [step.rung for step in self.steps if step.holds]
        return held[-1] if held else None

    @property
    def holds(self) -> bool:
        """Whether all that was tried holds."""
        return all(step.holds for step in self.steps)

    @property
    def is_refuted(self) -> bool:
        """Whether something that was tried does not hold."""
        return any(step.was_tried and not step.holds for step in self.steps)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of all steps, from the lowest rung on."""
        return tuple(finding for step in self.steps for finding in step.findings)

    @property
    def unproved(self) -> tuple[Finding, ...]:
        """Where programs read what changes: the pods may be alike, what the programs make of it is not looked at. None once runs
        were compared, which shows it."""
        if any(step.rung == "runs" and step.holds for step in self.steps):
            return ()
        own = (finding for finding in self.findings if finding.limits_proof)
        return (*self.conversion.unproved, *own)

    def with_suppressions(self, mark: Callable[[Iterable[Finding]], tuple[Finding, ...]]) -> Ladder:
        """With findings that people have suppressed marked as such."""
        return replace(self, steps=tuple(step._replace(findings=mark(step.findings)) for step in self.steps))

    def higher(self, step: Step) -> Ladder:
        """With one more rung tried."""
        assert self.holds, "a rung is tried when all below it hold"
        return replace(self, steps=(*self.steps, step))


def climbed(conversion: Conversion, options: Options = Options()) -> Ladder:  # noqa: B008
    """Proves a conversion up to the rung `pods`, the highest without a cluster. Never raises."""
    ladder = Ladder(conversion, ())
    for rung, tried in _TRIED.items():
        ladder = ladder.higher(Step(rung, tuple(tried(conversion, _Reporter(conversion, options)))))
        if not ladder.holds:
            return ladder
    comparison = compared(conversion, options)
    step = Step("pods", comparison.findings, _note(comparison), was_tried=comparison.matched is not None)
    return ladder.higher(step)


def all_climbed(
    conversions: Sequence[Conversion], options: Options, done: Callable[[int], None] = lambda count: None
) -> list[Ladder]:
    """Proves each conversion as far as possible without a cluster. Calls `done` with the number of further ones done."""
    climbs = mapped(
        lambda conversion: climbed(conversion, options).steps, conversions, least=LEAST_CONVERSIONS, known=conversions, done=done
    )
    return [Ladder(conversion, steps) for conversion, steps in zip(conversions, climbs, strict=True)]


class _Reporter:
    """Makes findings about fields of the result, at the place in the source that they come from."""

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
        """The field of the source that stands at `field` of the result, or above it."""
        best: tuple[int, Path] = (0, ())
        for row in self._conversion.rows:
            if row.target is None or row.target.manifest != manifest:
                continue
            for cut in range(len(row.target.path)):
                there = shown(row.target.path[: len(row.target.path) - cut])
                if field.startswith(there) and len(there) > best[0]:
                    best = len(there), row.path[: len(row.path) - cut]
        return best[1]


def _manifests(conversion: Conversion) -> Iterator[tuple[Manifest, Json]]:
    if conversion.runtime is not None:
        yield "TrainingRuntime", conversion.runtime
    yield "TrainJob", conversion.train_job


def _yaml(conversion: Conversion, tell: _Reporter) -> Iterator[Finding]:
    text = text_of(conversion)
    try:
        found = [obj for obj in load_all_yaml(text) if obj is not None]
    except yaml.YAMLError as error:
        yield tell(NOT_THE_SAME_TEXT, f"The result is not YAML: {' '.join(str(error).split())}.")
        return
    wanted = [obj for _, obj in _manifests(conversion)]
    if found != wanted:
        yield tell(NOT_THE_SAME_TEXT, "The text of the result differs from the objects that it was written from.")


def _schema(conversion: Conversion, tell: _Reporter) -> Iterator[Finding]:
    for manifest, obj in _manifests(conversion):
        try:
            unknown, faults, broken_rules = _schema_faults(msgspec.json.encode(obj))
        except InputError as error:
            yield tell(REFUSED_BY_SCHEMA, error.message, manifest=manifest)
            continue
        accepted = {finding.path: finding.suppressed for finding in conversion.findings if finding.topic.id == OF_TEMPLATE.id}
        for field in unknown:
            finding = tell(REFUSED_BY_SCHEMA, f"{title(obj)} has no field {field}.", manifest=manifest, field=field)
            # Who accepts a field that v1 does not know accepts it in the result, where it is passed on.
            yield finding._replace(suppressed=accepted.get(finding.path, ""))
        yield from _errors(REFUSED_BY_SCHEMA, manifest, obj, faults, tell)
        for fault in broken_rules:
            yield tell(REFUSED_BY_SCHEMA, f"{title(obj)}: {fault}.", manifest=manifest, field=fault.partition(":")[0])


def _cel(conversion: Conversion, tell: _Reporter) -> Iterator[Finding]:
    for manifest, obj in _manifests(conversion):
        yield from _errors(REFUSED_BY_CEL, manifest, obj, _cel_faults(msgspec.json.encode(obj)), tell)


def _webhooks(conversion: Conversion, tell: _Reporter) -> Iterator[Finding]:
    """What Trainer's webhooks say: to the runtime when it is made, to the job when its runtime is there."""
    if conversion.runtime is not None:
        runtime = msgspec.convert(admitted_once(msgspec.json.encode(conversion.runtime)), TrainingRuntime)
        yield from _errors(REFUSED_BY_WEBHOOK, "TrainingRuntime", conversion.runtime, runtime_validation.errors(runtime), tell)
    obj = conversion.train_job
    if unreadable := go_decode_error(obj):
        yield tell(REFUSED_BY_WEBHOOK, f"{title(obj)}: {unreadable}.", manifest="TrainJob")
        return
    stored = admitted_once(msgspec.json.encode(obj))
    job = msgspec.convert(stored, TrainJob)
    if unsupported := validation.unsupported_runtime(job.spec.runtime_ref):
        yield tell(REFUSED_BY_WEBHOOK, f"{title(obj)}: {unsupported}.", manifest="TrainJob", field="spec.runtimeRef")
        return
    try:
        errors = trainjob_errors(job, runtime_of(stored, conversion.runtime))
    except InputError as error:
        yield tell(REFUSED_BY_WEBHOOK, error.message, manifest="TrainJob", remedy=error.remedy)
        return
    yield from _errors(REFUSED_BY_WEBHOOK, "TrainJob", obj, errors, tell)


def _objects(conversion: Conversion, tell: _Reporter) -> Iterator[Finding]:
    """What follows from the TrainJob is made later, by controllers: a refusal there is told in events only, and tried again for
    ever."""
    try:
        side = v2_side(conversion.train_job, conversion.runtime)
    except InputError as error:
        yield tell(NO_OBJECTS, error.message, remedy=error.remedy)
        return
    for obj in _followers(side):
        faults = [*map(str, cel_errors(obj)), *rule_errors(obj)]
        for fault in dict.fromkeys(faults):
            yield tell(NO_OBJECTS, f"{title(obj)} would be refused: {fault}.")


def _followers(side: V2) -> Iterator[Json]:
    """The JobSet, its Jobs, and of each Job's pods the first and the last: all others differ from them in their numbers only."""
    yield side.jobset
    yield from side.jobs
    pods: dict[str, list[Json]] = {}
    for replica in side.replicas:
        pods.setdefault(replica.pod["metadata"]["ownerReferences"][0]["name"], []).append(replica.pod)
    for found in pods.values():
        yield from (found[0], found[-1]) if len(found) > 1 else found


@lru_cache(maxsize=256)
def _schema_faults(said: bytes) -> tuple[list[str], list[FieldError], list[str]]:
    """Unknown fields, errors of the schema, and broken rules of all objects: many jobs share a runtime. Raises RefusedError."""
    unknown, stored = unknown_fields(msgspec.json.decode(said)), admitted_once(said)
    return unknown, schema_errors(stored), rule_errors(stored)


@lru_cache(maxsize=256)
def _cel_faults(said: bytes) -> list[FieldError]:
    return cel_errors(admitted_once(said))


def _errors(topic: Topic, manifest: Manifest, obj: Json, errors: list[FieldError], tell: _Reporter) -> Iterator[Finding]:
    for error in errors:
        yield tell(topic, f"{title(obj)}: {error}.", manifest=manifest, field=error.field.lstrip("."))


def _note(comparison: Comparison) -> str:
    if comparison.matched is None:
        return ""
    counts: dict[str, int] = {}
    for difference in comparison.differences:
        counts[difference.verdict] = counts.get(difference.verdict, 0) + 1
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("expected", "reported", "unexplained") if verdict in counts)
    pods = len(comparison.matched.pairs)
    return f"{pods} pod{'' if pods == 1 else 's'} on each side; differences: {told or 'none'}"


_TRIED: dict[RungName, Callable[[Conversion, _Reporter], Iterator[Finding]]] = {
    "yaml": _yaml,
    "schema": _schema,
    "cel": _cel,
    "webhooks": _webhooks,
    "objects": _objects,
}
