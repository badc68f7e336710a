"""A JobSet that people made themselves, as the kind of job that rules know. Pure."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS

CONDITIONS = {"Completed": "Complete"}
"""Condition types of a JobSet that a TrainJob calls otherwise (JobSet 0.12)."""


def as_training(jobset: Json) -> Json:
    """The JobSet in the shape of a TrainJob: its conditions, how many of its Jobs are active and ready, its pods in all. Only to
    be looked at, never to be written."""
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
