"""References of other objects to a converted v1 job: `scaleTargetRef` of an autoscaler, `targetRef`, owner references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shunter.api.meta import Json
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.paths import Path, path_text
from shunter.migrate.survey.neighbours.job_pods import JobPods, Jobs
from shunter.migrate.survey.neighbours.topics import REFERENCE

_GROUP = "kubeflow.org"
_KINDS = frozenset(kind.resource.kind for kind in JOB_KINDS)
_OWNERS = "ownerReferences"


def references_to_jobs(source: SourceObject, jobs: Jobs) -> Iterator[Finding]:
    """A finding for each reference to a job of the input that becomes a TrainJob."""
    for path, kind, name in _references(source.value, ()):
        job = _job(source, kind, name, jobs)
        if job is not None:
            follows = "is deleted with the v1 job" if _OWNERS in path else "does nothing for the TrainJob"
            says = f"{path_text(path)} of {source.title} names {job.title}, which is {job.new_title} now: it {follows}."
            yield Finding(REFERENCE, source.title, source.place(path), path, says)


def _references(value: Any, path: Path) -> Iterator[tuple[Path, str, str]]:
    """The path, kind and name of each reference to a v1 job."""
    if isinstance(value, dict):
        if path and value.get("kind") in _KINDS and _is_of_group(value) and isinstance(value.get("name"), str):
            yield path, value["kind"], value["name"]
            return
        for key, inner in value.items():
            yield from _references(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, (*path, index))


def _is_of_group(reference: Json) -> bool:
    return str(reference.get("apiVersion") or reference.get("apiGroup") or "").partition("/")[0] == _GROUP


def _job(source: SourceObject, kind: str, name: str, jobs: Jobs) -> JobPods | None:
    for job in jobs.all:
        other = job.outcome.source
        is_in_reach = not source.namespace or not other.namespace or source.namespace == other.namespace
        if job.result is not None and other.kind == kind and other.name == name and is_in_reach:
            return job
    return None
