"""One v1 job with a run policy, converted, for the tests of rules."""

from __future__ import annotations

from typing import Any, NamedTuple

from migrate.generated_jobs import smallest
from shunter.api.meta import Json
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

KINDS = {kind.resource.kind: kind for kind in JOB_KINDS}


class Converted(NamedTuple):
    """What rules about the run policy set, and the ids of the findings that are more than notes."""

    train_job: Json
    jobset: Json
    jobs: list[Json]
    findings: list[str]


def converted(
    policy: Json | None = None,
    *,
    kind: str = "PyTorchJob",
    metadata: Json | None = None,
    restart: str = "OnFailure",
    status: Json | None = None,
    options: Options | None = None,
    **spec: Any,
) -> Converted:
    """A job of a master and two workers, or of two workers where the kind has no master."""
    job = smallest(KINDS[kind])
    for role, replicas in job["spec"][KINDS[kind].replica_specs].items():
        replicas |= {"replicas": 2 if role == "Worker" else 1, "restartPolicy": restart}
    job["metadata"] |= metadata or {}
    job["spec"] |= {"runPolicy": policy, **spec}
    if status is not None:
        job["status"] = status
    conversion = convert(SourceObject(job, "x.yaml"), options or Options())
    jobset = (conversion.runtime or {"spec": {"template": {"spec": {"replicatedJobs": []}}}})["spec"]["template"]["spec"]
    jobs = [one["template"]["spec"] for one in jobset["replicatedJobs"]]
    told = [finding.topic.id for finding in conversion.findings if finding.topic.severity != "info"]
    return Converted(conversion.train_job["spec"], jobset, jobs, told)
