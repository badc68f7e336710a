"""A trial of a TrainJob in a file, under another name; `trial` builds those of v1 jobs. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, rfc3339
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.annotations import COMPARED, NOT_SEEN, PLAN
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.trial import Trial, labelled_as_trial

PREFIX = "test-"


class Naming(NamedTuple):
    """The namespace, name prefix and time limits of the trial."""

    namespace: str
    prefix: str = PREFIX
    deadline_seconds: int = 3600
    keep_seconds: int = 3600


def train_job_in(objects: Sequence[SourceObject]) -> SourceObject | None:
    """The TrainJob among the objects; None if there is none. InputError if there are several."""
    found = [obj for obj in objects if (obj.api_version, obj.kind) == (TRAIN_JOBS.api_version, TRAIN_JOBS.kind)]
    if len(found) > 1:
        raise InputError(f"{len(found)} TrainJobs are named: {', '.join(job.title for job in found)}.", "Name a file with one.")
    return found[0] if found else None


def trial_of_converted(job: SourceObject, objects: Sequence[SourceObject], naming: Naming, *, now: datetime) -> Trial:
    """The trial of a TrainJob. A TrainingRuntime in the input is copied under the trial's name; else that of the cluster is used.
    InputError if the job refers to hosts by its own name, which the trial does not have."""
    _require_fields(job)
    name = f"{naming.prefix}{job.name}"
    runtime = _runtime(job, objects)
    hosts = re.compile(rf"(?<![\w.-]){re.escape(job.name)}-[\w-]+\.{re.escape(job.name)}(?![\w-])")
    if host := hosts.search(msgspec.json.encode([job.value["spec"], runtime and runtime["spec"]]).decode()):
        raise InputError(
            f"{job.title}: it names the host {host[0]}, and as {name} it would have none of that name.",
            "Try the v1 job instead, which is then converted under that name: shunter migrate test JOB.",
        )
    expires = rfc3339(now + timedelta(seconds=naming.deadline_seconds + naming.keep_seconds))
    annotations = {trial_labels.CHANGES: "{}", trial_labels.EXPIRES: expires}
    train_job = labelled_as_trial(job.value, annotations)
    metadata, spec = train_job["metadata"], train_job["spec"]
    for annotation in (PLAN, COMPARED, NOT_SEEN):
        metadata["annotations"].pop(annotation, None)
    metadata |= {"name": name, "namespace": naming.namespace}
    spec.pop("suspend", None)
    given = spec.get("activeDeadlineSeconds") or naming.deadline_seconds
    spec["activeDeadlineSeconds"] = min(given, naming.deadline_seconds)
    if runtime is not None:
        runtime = labelled_as_trial(runtime, annotations)
        runtime["metadata"] |= {"name": name, "namespace": naming.namespace}
        spec["runtimeRef"]["name"] = name
    return Trial(None, train_job, runtime, {})


def _require_fields(job: SourceObject) -> None:
    """InputError for a TrainJob without name or runtime."""
    spec = job.value.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or not reference.get("name"):
        raise InputError(f"{job.title}: spec.runtimeRef.name is missing.", "Name its runtime.")
    if not job.metadata.get("name"):
        raise InputError(f"{job.title}: metadata.name is missing.", "Give it a name: the trial's name is derived from it.")


def _runtime(job: SourceObject, objects: Sequence[SourceObject]) -> Json | None:
    """The TrainingRuntime in the input that the job refers to; None if there is none."""
    reference = job.value["spec"]["runtimeRef"]
    wanted = (TRAINING_RUNTIMES.api_version, TRAINING_RUNTIMES.kind, reference.get("name"))
    if reference.get("kind") != TRAINING_RUNTIMES.kind:
        return None
    found = [obj for obj in objects if (obj.api_version, obj.kind, obj.name) == wanted]
    return next((obj.value for obj in found if obj.namespace in ("", job.namespace)), None)
