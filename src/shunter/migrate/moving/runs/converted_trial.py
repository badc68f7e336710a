"""A trial of a converted job as it stands in its file, under a name of its own; `trial` makes those of v1 jobs. Pure."""

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
from shunter.migrate.moving.marks import COMPARED, NOT_SEEN, PLAN
from shunter.migrate.moving.runs import marks
from shunter.migrate.moving.runs.trial import Trial, marked

PREFIX = "test-"


class Naming(NamedTuple):
    """Under what name, where and how long the trial runs."""

    namespace: str
    prefix: str = PREFIX
    deadline_seconds: int = 3600
    keep_seconds: int = 3600


def train_job_in(objects: Sequence[SourceObject]) -> SourceObject | None:
    """The one TrainJob among them; None when there is none. InputError when there are more."""
    found = [obj for obj in objects if (obj.api_version, obj.kind) == (TRAIN_JOBS.api_version, TRAIN_JOBS.kind)]
    if len(found) > 1:
        raise InputError(f"{len(found)} TrainJobs are named: {', '.join(job.title for job in found)}.", "Name a file with one.")
    return found[0] if found else None


def trial_of_converted(job: SourceObject, objects: Sequence[SourceObject], naming: Naming, *, now: datetime) -> Trial:
    """The trial of a TrainJob. Its TrainingRuntime comes along under the trial's name where the input holds it; else it is the
    cluster's. InputError where the job names hosts by its own name, which the trial does not have."""
    _require_whole(job)
    name = f"{naming.prefix}{job.name}"
    runtime = _runtime(job, objects)
    hosts = re.compile(rf"(?<![\w.-]){re.escape(job.name)}-[\w-]+\.{re.escape(job.name)}(?![\w-])")
    if host := hosts.search(msgspec.json.encode([job.value["spec"], runtime and runtime["spec"]]).decode()):
        raise InputError(
            f"{job.title}: it names the host {host[0]}, and as {name} it would have none of that name.",
            "Try the v1 job instead, which is then converted under that name: shunter migrate test JOB.",
        )
    expires = rfc3339(now + timedelta(seconds=naming.deadline_seconds + naming.keep_seconds))
    annotations = {marks.CHANGES: "{}", marks.EXPIRES: expires}
    train_job = marked(job.value, annotations)
    metadata, spec = train_job["metadata"], train_job["spec"]
    for of_a_plan in (PLAN, COMPARED, NOT_SEEN):
        metadata["annotations"].pop(of_a_plan, None)
    metadata |= {"name": name, "namespace": naming.namespace}
    spec.pop("suspend", None)
    given = spec.get("activeDeadlineSeconds") or naming.deadline_seconds
    spec["activeDeadlineSeconds"] = min(given, naming.deadline_seconds)
    if runtime is not None:
        runtime = marked(runtime, annotations)
        runtime["metadata"] |= {"name": name, "namespace": naming.namespace}
        spec["runtimeRef"]["name"] = name
    return Trial(None, train_job, runtime, {})


def _require_whole(job: SourceObject) -> None:
    """InputError for a TrainJob without what its trial is made of."""
    spec = job.value.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or not reference.get("name"):
        raise InputError(f"{job.title}: spec.runtimeRef.name is missing.", "Name its runtime.")
    if not job.metadata.get("name"):
        raise InputError(f"{job.title}: metadata.name is missing.", "Give it a name: the trial's is made of it.")


def _runtime(job: SourceObject, objects: Sequence[SourceObject]) -> Json | None:
    """The TrainingRuntime of the input that the job refers to; None when there is none."""
    reference = job.value["spec"]["runtimeRef"]
    wanted = (TRAINING_RUNTIMES.api_version, TRAINING_RUNTIMES.kind, reference.get("name"))
    if reference.get("kind") != TRAINING_RUNTIMES.kind:
        return None
    found = [obj for obj in objects if (obj.api_version, obj.kind, obj.name) == wanted]
    return next((obj.value for obj in found if obj.namespace in ("", job.namespace)), None)
