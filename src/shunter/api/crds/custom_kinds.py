"""The custom kinds that the operator serves or needs, and what their CRDs say beside the schema.

Sources: Training Operator v1.9 (kubeflow.org/v1), Kubeflow Trainer v2.3 (TrainJob, runtimes), JobSet 0.12.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Meta

from shunter.api.jobset import JobSet
from shunter.api.meta import Struct
from shunter.api.openapi import cel
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, JOBSETS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.trainer.runtime import ClusterTrainingRuntime, TrainingRuntime
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS


class PrinterColumn(NamedTuple):
    """A column of `kubectl get`; `type` is string or date."""

    name: str
    json_path: str
    type: str = "string"
    description: str = ""


class Scale(NamedTuple):
    """Paths of the scale subresource."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


class CustomKind(NamedTuple):
    """One CustomResourceDefinition; `rules` hold for the whole object."""

    resource: Resource
    type: type[Struct]
    columns: tuple[PrinterColumn, ...] = ()
    has_status: bool = False
    scale: Scale | None = None
    rules: Meta | None = None


_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
_STATE_AND_AGE = (PrinterColumn("State", ".status.conditions[-1:].type"), _AGE)


def job_custom_kind(kind: JobKind) -> CustomKind:
    """The CRD of a job kind of kubeflow.org/v1."""
    workers = Scale(
        f".spec.{kind.replica_specs}.Worker.replicas",
        ".status.replicaStatuses.Worker.active",
        ".status.replicaStatuses.Worker.selector",
    )
    scale = workers if kind.is_scalable else None
    return CustomKind(kind.resource, kind.view, columns=_STATE_AND_AGE, has_status=True, scale=scale)


CUSTOM_KINDS = (
    CustomKind(CLUSTER_TRAINING_RUNTIMES, ClusterTrainingRuntime),
    CustomKind(
        JOBSETS,
        JobSet,
        columns=(
            PrinterColumn("TerminalState", ".status.terminalState", description="How the JobSet ended"),
            PrinterColumn("Restarts", ".status.restarts", description="Restarts of the whole JobSet"),
            PrinterColumn("Completed", '.status.conditions[?(@.type=="Completed")].status'),
            PrinterColumn("Suspended", ".spec.suspend", description="Whether the JobSet is suspended"),
            _AGE._replace(description="Time since creation"),
        ),
        has_status=True,
    ),
    *(job_custom_kind(kind) for kind in JOB_KINDS),
    CustomKind(TRAINING_RUNTIMES, TrainingRuntime),
    CustomKind(
        TRAIN_JOBS,
        TrainJob,
        columns=_STATE_AND_AGE,
        has_status=True,
        rules=cel(
            (
                "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
                "metadata.name must match RFC 1035 DNS label format",
            ),
            ("size(self.metadata.name) <= 63", "metadata.name must be no more than 63 characters"),
        ),
    ),
)
