"""A JobSet without a TrainJob, in the shape of a TrainJob. Pure."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS

CONDITIONS = {"Completed": "Complete"}
"""Condition types of a JobSet (0.12), with their names in a TrainJob."""


def as_training(jobset: Json) -> Json:
    """The JobSet as a TrainJob, with its conditions, the status of its Jobs and the number of its pods. Only for reading: never
    write it."""
    spec, status = jobset.get("spec") or {}, jobset.get("status") or {}
    conditions = [{**one, "type": CONDITIONS.get(one["type"], one["type"])} for one in status.get("conditions") or ()]
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": "JobSet",
        "metadata": jobset["metadata"],
        "spec": {
            "suspend": bool(spec.get("suspend")),
            "trainer": {"numNodes": sum(map(_pods, spec.get("replicatedJobs") or ()))},
        },
        "status": {"conditions": conditions, "jobsStatus": status.get("replicatedJobsStatus") or []},
    }


def _pods(group: Json) -> int:
    job = (group.get("template") or {}).get("spec") or {}
    return int(group.get("replicas", 1)) * int(job.get("parallelism", 1))
