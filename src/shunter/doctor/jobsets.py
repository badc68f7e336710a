"""A JobSet without a TrainJob, in the shape of a TrainJob. Pure."""

from __future__ import annotations

from shunter.api.jobset import ENDS
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.jobs.pods_up import requested_ranks


def as_training(jobset: Json) -> Json:
    """The JobSet as a TrainJob, with its conditions, the status of its Jobs and the number of its pods that train. Only for
    reading: never write it."""
    spec, status = jobset.get("spec") or {}, jobset.get("status") or {}
    conditions = [{**one, "type": ENDS.get(one["type"], one["type"])} for one in status.get("conditions") or ()]
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": "JobSet",
        "metadata": jobset["metadata"],
        "spec": {
            "suspend": bool(spec.get("suspend")),
            "trainer": {"numNodes": requested_ranks({"apiVersion": TRAIN_JOBS.api_version}, jobset) or 0},
        },
        "status": {"conditions": conditions, "jobsStatus": status.get("replicatedJobsStatus") or []},
    }
