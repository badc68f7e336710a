"""The phases of a plugin of the trainer; each does nothing unless a plugin overrides it.

    errors    what admission refuses in a job of a runtime
    warnings  what admission accepts with a warning
    apply     counts of pods, environment, ports: what the runtime's policy means for this job
    objects   further objects beside the JobSet (host files, pod groups), in the order in which they are written
    secrets   Secrets that are made once: keys

Phases run over all plugins in the table's order before the next phase starts. A plugin declares the objects that it may make as
`companions`, so that only these are watched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.trainer.runtime import MLPolicy, PodGroupPolicy
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import Model


class Companion(NamedTuple):
    """A kind of object that a job may have beside its JobSet, by how its name ends."""

    resource: Resource
    suffix: str = ""

    def name(self, job: TrainJob) -> str:
        """`bert-mpi-hostfile`: the job's name and the suffix."""
        return f"{job.metadata.name}{self.suffix}"

    def object(self, job: TrainJob, **fields: Any) -> Json:
        """The object that belongs to this job, with these fields and without an owner."""
        return self.resource.typed({"metadata": {"name": self.name(job), "namespace": job.metadata.namespace}, **fields})


class ForeignField(NamedTuple):
    """A field of a kind that is not ours, which not every release of it has."""

    resource: Resource
    path: tuple[str, ...]


class AdmissionContext(NamedTuple):
    """A job at admission, and what its runtime says about it."""

    job: TrainJob
    policy: MLPolicy | None
    pod_groups: PodGroupPolicy | None
    template: Json
    """The runtime's, with the job's patches merged."""
    missing_priority_classes: Mapping[str, str]
    """The missing PriorityClasses among those that `priority_classes` names, with the API server's message."""
    missing_fields: Collection[ForeignField] = ()
    """The fields among those that `foreign_fields` names that the cluster is known not to have."""


class Plugin:
    """One framework's or scheduler's part in making a JobSet."""

    companions: tuple[Companion, ...] = ()

    def apply(self, model: Model) -> None:
        """Changes the model. Raises BuildError when job and runtime do not go together."""

    def objects(self, model: Model) -> list[Json]:
        """Objects beside the JobSet, without owner references. They are kept up to date; a PodGroup only while the job is
        suspended."""
        return []

    def secrets(self, model: Model) -> Mapping[Companion, Callable[[bytes], Json]]:
        """The desired Secrets, and how each is made from random bytes. An existing one of that name is left unchanged."""
        return {}

    def priority_classes(self, pod_groups: PodGroupPolicy | None, template: Json) -> list[str]:
        """The PriorityClasses that `errors` has to know about."""
        return []

    def foreign_fields(self, pod_groups: PodGroupPolicy | None) -> list[ForeignField]:
        """The fields of other programs' kinds that `errors` has to know about."""
        return []

    def warnings(self, context: AdmissionContext) -> list[str]:
        """Warnings about a new job that admission accepts."""
        return []

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """What admission refuses in the job."""
        return []
