"""The facts about a cluster, read once; they distinguish what may not be read from what does not exist."""

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
"""Kueue's API group, whatever its version."""


class UnknownFactError(Exception):
    """A check needs data that may not be read; the text names it."""


class Fault(NamedTuple):
    """Something that is not as it should be."""

    message: str
    object: str = ""
    """`ResourceQuota training/gpu`; empty when it is about the cluster."""
    remedy: str = ""
    """Where the topic's own can be said better."""
    impact: Impact | None = None
    """Where it differs from the topic's."""


class Check(Protocol):
    """What a module in checks/ has."""

    TOPIC: Topic

    def applies(self, facts: Facts) -> bool:
        """Whether there is anything to check in this cluster."""

    def faults(self, facts: Facts) -> Iterator[Fault]:
        """All that is wrong. UnknownFactError when it cannot be told."""


class DryRunResult(NamedTuple):
    """The result of creating an object in a dry run: the server's message when it was refused."""

    refusal: str
    code: int


@dataclass(frozen=True)
class Facts:
    """All that checks look at. An object that is not here is not there, or may not be read: `all` tells the two apart."""

    version: str
    """`1.36`; empty when the server does not tell."""
    git_version: str
    served: frozenset[str]
    """Every `group/version`, and `v1`."""
    batch: Batch
    """The v1 jobs in scope, converted as it is planned."""
    namespaces: tuple[str, ...]
    """Where v1 jobs are, or were said to be."""
    lists: Mapping[Resource, Sequence[Json] | None]
    """Objects by resource; None for what may not be read."""
    allowed: Mapping[Request, bool] = field(default_factory=dict)
    releases: Sequence[tuple[str, str]] | None = ()
    """Helm releases, `namespace/name`, with their manifests; None when Secrets may not be read."""
    train_job_dry_run: DryRunResult | None = None
    """Of a TrainJob whose runtime does not exist; None when the cluster serves no TrainJobs."""
    v1_job_dry_run: DryRunResult | None = None
    """Of a small suspended PyTorchJob."""
    jobset_dry_run: DryRunResult | None = None
    """Of a small JobSet."""

    @cached_property
    def unfinished(self) -> tuple[Outcome, ...]:
        """Of the v1 jobs those that have not finished: no plan makes a TrainJob of another."""
        return tuple(outcome for outcome in self.batch.outcomes if v1_state(outcome.source.value)[0] not in FINISHED_STATES)

    def all(self, resource: Resource) -> Sequence[Json]:
        """Every object in scope; none where the kind is not served. UnknownFactError."""
        found = self.lists.get(resource, ())
        if found is None:
            raise UnknownFactError(f"{resource.plural}{'.' if resource.group else ''}{resource.group} may not be listed")
        return found

    def serves(self, resource: Resource) -> bool:
        """Whether the cluster serves the group and version of the resource; whether it has the kind is not looked at."""
        return resource.api_version in self.served

    def serves_group(self, group: str) -> bool:
        """Whether the cluster serves any version of an API group."""
        return any(version.startswith(f"{group}/") for version in self.served)

    @property
    def is_embedded(self) -> bool:
        """Whether it is the embedded cluster, whose controllers are no Deployments."""
        return "shunter" in self.git_version
