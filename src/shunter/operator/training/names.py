"""Names and labels of a job's pods and services: dashboards, SDKs and scripts select on them."""

from __future__ import annotations

from functools import lru_cache

from shunter.api.formats.digits import whole_number
from shunter.operator.training.job import AnyJob

PREFIX = "training.kubeflow.org/"
"""The prefix of the label keys below, and of upstream's other labels and annotations of v1 jobs."""
OPERATOR_NAME = "training.kubeflow.org/operator-name"
JOB_NAME = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
JOB_ROLE = "training.kubeflow.org/job-role"
MASTER_ROLE = "master"


def replica_name(job_name: str, replica_type: str, index: int) -> str:
    """The name of a pod and of its service: `bert-worker-3`."""
    return f"{job_name}-{replica_type.lower()}-{index}"


def job_labels(job: AnyJob) -> dict[str, str]:
    """On all pods and services of the job: one with other values is not the job's any more (`children_of`)."""
    return {JOB_NAME: job.name, OPERATOR_NAME: job.controller}


def replica_type_labels(job: AnyJob, replica_type: str) -> dict[str, str]:
    """The labels of the job, and the role in lower case."""
    return {**job_labels(job), REPLICA_TYPE: replica_type.lower()}


def replica_labels(job: AnyJob, replica_type: str, index: int) -> dict[str, str]:
    """The labels of the role, and the index, without the label job-role of a master."""
    return {**replica_type_labels(job, replica_type), REPLICA_INDEX: str(index)}


def index_of(labels: dict[str, str]) -> int | None:
    """The replica index that the labels say; None when there is none or it is no number."""
    return _number(labels.get(REPLICA_INDEX, ""))


_number = lru_cache(maxsize=4096)(whole_number)
