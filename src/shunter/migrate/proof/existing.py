"""A TrainJob that a user wrote or edited, in the place of the conversion's own."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from shunter.api.field_errors import aggregate
from shunter.api.meta import Json, annotations_of
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.provenance import SOURCE
from shunter.migrate.findings import Finding
from shunter.migrate.pods.admission import admitted, schema_errors, title
from shunter.migrate.proof.topics import NO_EXISTING_TRAIN_JOB

_RUNTIMES = (TRAINING_RUNTIMES.kind, CLUSTER_TRAINING_RUNTIMES.kind)


def with_existing(conversion: Conversion, objects: Iterable[Json], *, has_others: bool = False) -> Conversion:
    """The conversion with the TrainJob for its source from `objects`, and that TrainJob's runtime, instead of its own results. It
    keeps its findings, which explain differences, and has no ledger. A single TrainJob may have any name, unless the source
    `has_others` beside it. Raises InputError if there is no such TrainJob or runtime, or an API server would reject one."""
    known = [*objects]
    train_job = _train_job(conversion, [obj for obj in known if obj.get("kind") == TRAIN_JOBS.kind], has_others=has_others)
    runtime = _runtime(train_job, known)
    for obj in (train_job, runtime):
        if obj is not None and obj.get("apiVersion") != TRAIN_JOBS.api_version:
            raise InputError(f"{title(obj)} has apiVersion {obj.get('apiVersion')}.", f"Use {TRAIN_JOBS.api_version}.")
        faults = schema_errors(admitted(obj)) if obj is not None else []
        if faults:
            raise InputError(
                f"{title(obj or {})} does not match its schema: {aggregate(faults)}.", "Correct what the message names."
            )
    return replace(conversion, train_job=train_job, runtime=runtime, rows=())


def each_with_existing(conversions: Iterable[Conversion], objects: Iterable[Json]) -> tuple[list[Conversion], list[Finding]]:
    """`with_existing` for several conversions, and findings about those without a TrainJob."""
    known = [*objects]
    found: list[Conversion] = []
    missing: list[Finding] = []
    for conversion in conversions:
        try:
            found.append(with_existing(conversion, known, has_others=True))
        except InputError as error:
            source = conversion.source
            missing.append(Finding(NO_EXISTING_TRAIN_JOB, source.title, source.place(), (), error.message, error.remedy))
    return found, missing


def _train_job(conversion: Conversion, jobs: list[Json], *, has_others: bool) -> Json:
    """The TrainJob with the name of the converted job, else of the source; else the only one, unless it was created from another
    job."""
    source = conversion.source
    for name in (conversion.train_job["metadata"].get("name"), source.name):
        for job in jobs:
            namespace = (job.get("metadata") or {}).get("namespace")
            if (job.get("metadata") or {}).get("name") == name and (
                not source.namespace or namespace in (None, source.namespace)
            ):
                return job
    if len(jobs) == 1 and not has_others and annotations_of(jobs[0]).get(SOURCE, source.title) == source.title:
        return jobs[0]
    there = ", ".join(str((job.get("metadata") or {}).get("name")) for job in jobs) or "none"
    raise InputError(
        f"{source.title}: there is no TrainJob of its name to compare with. Found: {there}.",
        "Name the file that has it with --against.",
    )


def _runtime(train_job: Json, objects: list[Json]) -> Json | None:
    """The job's runtime, preferably of its namespace; None for a ClusterTrainingRuntime that is not in the input, as it may be a
    shipped one."""
    reference = (train_job.get("spec") or {}).get("runtimeRef") or {}
    kind, name = reference.get("kind", CLUSTER_TRAINING_RUNTIMES.kind), reference.get("name")
    namespace = (train_job.get("metadata") or {}).get("namespace")
    found = [obj for obj in objects if obj.get("kind") == kind and (obj.get("metadata") or {}).get("name") == name]
    if found and kind in _RUNTIMES:
        return min(found, key=lambda obj: obj["metadata"].get("namespace", namespace) != namespace)
    if kind == TRAINING_RUNTIMES.kind:
        raise InputError(
            f"{title(train_job)}: its TrainingRuntime {name} is missing.", "Name the file that has it with --against."
        )
    return None
