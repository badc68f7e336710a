"""A JobSet without a TrainJob, in the shape of a TrainJob. Pure."""

from __future__ import annotations

import math

from shunter.api.jobset import ENDS, replicas_and_pods
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS


def as_training(jobset: Json) -> Json:
    """The JobSet as a TrainJob, with its conditions, the status of its Jobs and the number of its pods. Only for reading: never
    write it."""
    spec, status = jobset.get("spec") or {}, jobset.get("status") or {}
    conditions = [{**one, "type": ENDS.get(one["type"], one["type"])} for one in status.get("conditions") or ()]
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": "JobSet",
        "metadata": jobset["metadata"],
        "spec": {
            "suspend": bool(spec.get("suspend")),
            "trainer": {"numNodes": sum(math.prod(replicas_and_pods(group)) for group in spec.get("replicatedJobs") or ())},
        },
        "status": {"conditions": conditions, "jobsStatus": status.get("replicatedJobsStatus") or []},
    }
