"""The facts about a cluster, read once. What may not be read is distinguished from what does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.access import Request
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.findings import Impact, Topic
from shunter.operator.overview import FINISHED_STATES, v1_state

MPI_JOBS_V2BETA1 = Resource(JOB_KINDS[0].resource.group, "v2beta1", "MPIJob", "mpijobs")
EXPERIMENTS = Resource("kubeflow.org", "v1beta1", "Experiment", "experiments")
WORKFLOW_TEMPLATES = Resource("argoproj.io", "v1alpha1", "WorkflowTemplate", "workflowtemplates")
CRON_WORKFLOWS = Resource("argoproj.io", "v1alpha1", "CronWorkflow", "cronworkflows")
SCHEDULED_WORKFLOWS = Resource("kubeflow.org", "v1beta1", "ScheduledWorkflow", "scheduledworkflows")
KUEUE = "kueue.x-k8s.io"
"""Kueue's API group."""


class UnknownFactError(Exception):
    """A check needs data that may not be read; the text names it."""


class Fault(NamedTuple):
    """One thing that is wrong."""

    message: str
    object: str = ""
    """`ResourceQuota training/gpu`; empty if it is about the cluster."""
    remedy: str = ""
    """Instead of the topic's remedy; empty for that."""
    impact: Impact | None = None
    """Instead of the topic's impact; None for that."""


class Check(Protocol):
    """The interface of a module in checks/."""

    TOPIC: Topic

    def applies(self, facts: Facts) -> bool:
        """Whether there is anything to check in this cluster."""

    def faults(self, facts: Facts) -> Iterator[Fault]:
        """What is wrong. UnknownFactError if a fact that it needs is unknown."""


class DryRunResult(NamedTuple):
    """The result of creating an object in a dry run; `refusal` is the server's message, empty if it was accepted."""

    refusal: str
    code: int


@dataclass(frozen=True)
class Facts:
    """The input of checks. `all` distinguishes objects that do not exist from those that may not be read."""

    version: str
    """`1.36`; empty if the server does not report it."""
    git_version: str
    served: frozenset[str]
    """Every `group/version`, and `v1`."""
    batch: Batch
    """The v1 jobs in scope, converted with the options of the plan."""
    namespaces: tuple[str, ...]
    """The namespaces with v1 jobs, and those that the user named."""
    lists: Mapping[Resource, Sequence[Json] | None]
    """Objects by resource; None if they may not be listed."""
    allowed: Mapping[Request, bool] = field(default_factory=dict)
    releases: Sequence[tuple[str, str]] | None = ()
    """Helm releases, `namespace/name`, with their manifests; None if Secrets may not be read."""
    train_job_dry_run: DryRunResult | None = None
    """The result of a dry run of a TrainJob whose runtime does not exist; None if the cluster does not serve TrainJobs."""
    v1_job_dry_run: DryRunResult | None = None
    """The result of a dry run of a small suspended PyTorchJob."""
    jobset_dry_run: DryRunResult | None = None
    """The result of a dry run of a small JobSet."""

    @cached_property
    def unfinished(self) -> tuple[Outcome, ...]:
        """The v1 jobs that have not finished: a plan creates TrainJobs for these only."""
        return tuple(outcome for outcome in self.batch.outcomes if v1_state(outcome.source.value)[0] not in FINISHED_STATES)

    def all(self, resource: Resource) -> Sequence[Json]:
        """Every object in scope; none if the kind is not served. UnknownFactError if they may not be listed."""
        found = self.lists.get(resource, ())
        if found is None:
            raise UnknownFactError(f"{resource.plural}{'.' if resource.group else ''}{resource.group} may not be listed")
        return found

    def serves(self, resource: Resource) -> bool:
        """Whether the cluster serves the group and version of the resource; not whether that has the kind."""
        return resource.api_version in self.served

    def serves_group(self, group: str) -> bool:
        """Whether the cluster serves any version of an API group."""
        return any(version.startswith(f"{group}/") for version in self.served)

    @property
    def is_embedded(self) -> bool:
        """Whether it is the embedded cluster, whose controllers have no Deployments."""
        return "shunter" in self.git_version
