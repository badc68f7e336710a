"""What the operator may do at an API server, and why: the one source of its roles.

shunter.install makes the manifests from these grants. tests/conformance/test_permissions.py runs the operator under exactly them:
a request that is refused fails it, and so does a grant that no request used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CORE_EVENTS,
    ENDPOINT_SLICES,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    JOBSETS,
    LEASES,
    MUTATING_WEBHOOKS,
    PODS,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    SUBJECT_ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.api.training.mpi import MPI_JOBS
from shunter.kube.webhooks.registration import Configuration
from shunter.operator.config import TRAIN_JOB_STATUS
from shunter.operator.trainer.admission import configurations as trainer_webhooks
from shunter.operator.training.admission import configurations as training_webhooks
from shunter.operator.training.frameworks import FRAMEWORKS

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete"]

V1_KINDS = tuple(framework.info.resource.kind for framework in FRAMEWORKS)
V2_KINDS = (TRAIN_JOBS.kind,)


class Grant(NamedTuple):
    """Verbs on one resource. Server-side apply takes `patch` and, where it creates, `create`."""

    resource: Resource
    verbs: Sequence[Verb]
    why: str
    subresource: str = ""
    kinds: Sequence[str] = ()
    """Only needed when one of these kinds of jobs is served; always when empty."""
    names: Sequence[Any] = ()
    """Only these objects."""
    only_self_managed: bool = False
    """Only needed when the operator makes the webhooks' certificate itself."""
    setting: str = ""
    """Only needed when this is on in the configuration file."""
    only_with_gangs: bool = False
    """Only needed when v1 jobs are gangs for the scheduler that reads this kind of PodGroup."""
    is_seen: bool = True
    """Whether one of our requests uses it; if not, an admission plugin of the API server requires it."""

    @property
    def rule(self) -> Json:
        """The grant as a rule of a Role (JSON)."""
        path = f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural
        rule: Json = {"apiGroups": [self.resource.group], "resources": [path], "verbs": list(self.verbs)}
        if self.names:
            rule["resourceNames"] = list(self.names)
        return rule


_PROGRESS = f"featureGates.{TRAIN_JOB_STATUS}"
_METRICS_ACCESS = "metrics.auth.enabled"
_WHOLE_LIFE: Sequence[Verb] = ("list", "watch", "create", "patch", "delete")
_OWNS = "children name the job as an owner that may not go before them; OwnerReferencesPermissionEnforcement (OpenShift) asks"


def in_served_namespaces() -> list[Grant]:
    """What controllers and webhooks do in the namespaces whose jobs they serve."""
    v1 = [grant for framework in FRAMEWORKS for grant in _v1_job(framework.info.resource)]
    return [
        *v1,
        Grant(PODS, ("list", "watch", "create", "delete"), "the pods of v1 jobs", kinds=V1_KINDS),
        Grant(PODS, ("patch",), "mark those that scaling in takes away", kinds=V1_KINDS),
        Grant(PODS, ("get",), "the last lines of a failed pod before it is deleted", subresource="log", kinds=V1_KINDS),
        Grant(SERVICES, ("list", "watch", "create", "delete"), "a service for each pod of a v1 job", kinds=V1_KINDS),
        *(
            Grant(groups, _WHOLE_LIFE, "the gang of a v1 job", kinds=V1_KINDS, only_with_gangs=True)
            for groups in (VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS)
        ),
        Grant(HORIZONTAL_POD_AUTOSCALERS, _WHOLE_LIFE, "the autoscaler of an elastic v1 job", kinds=V1_KINDS),
        *_mpi_jobs(),
        Grant(CORE_EVENTS, ("create", "patch"), "what happened to v1 jobs, as upstream reports it", kinds=V1_KINDS),
        Grant(TRAIN_JOBS, ("list", "watch"), "the jobs to reconcile", kinds=V2_KINDS),
        Grant(TRAIN_JOBS, ("patch",), "their conditions and counters", subresource="status", kinds=V2_KINDS),
        Grant(TRAIN_JOBS, ("update",), _OWNS, subresource="finalizers", kinds=V2_KINDS, is_seen=False),
        Grant(TRAINING_RUNTIMES, ("list", "watch"), "the runtimes that jobs name", kinds=V2_KINDS),
        Grant(TRAINING_RUNTIMES, ("get",), "one created a moment ago, when a job is admitted", kinds=V2_KINDS),
        Grant(TRAINING_RUNTIMES, ("patch",), "take off the finalizer of earlier trainers", kinds=V2_KINDS),
        Grant(JOBSETS, ("list", "watch", "create", "patch"), "the JobSet of each job", kinds=V2_KINDS),
        Grant(
            JOBSETS,
            ("delete",),
            "one that missed its deadline loses it; who comes back on other nodes gets a new one",
            kinds=V2_KINDS,
        ),
        Grant(PODS, ("list", "watch"), "what failed in the pods of TrainJobs", kinds=V2_KINDS),
        Grant(PODS, ("get",), "the last lines of a failed pod before it is deleted", subresource="log", kinds=V2_KINDS),
        Grant(
            JOBS, ("list", "watch"), "whether the pods of a suspended JobSet are deleted, and where its Jobs run", kinds=V2_KINDS
        ),
        Grant(CONFIG_MAPS, ("list", "watch", "create", "patch"), "the runtime as each job met it, host files", kinds=V2_KINDS),
        Grant(PODS, ("get",), "whether the pod that reports progress still exists", kinds=V2_KINDS, setting=_PROGRESS),
        Grant(SECRETS, ("list", "watch"), "whether a job has its keys; only metadata is asked for", kinds=V2_KINDS),
        Grant(SECRETS, ("create",), "the keys of MPI and Flux jobs", kinds=V2_KINDS),
        *(
            Grant(groups, ("list", "watch", "create", "patch"), "the gang of a TrainJob", kinds=V2_KINDS)
            for groups in (COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS)
        ),
        Grant(EVENTS, ("create", "patch"), "what happened to TrainJobs", kinds=V2_KINDS),
    ]


def in_canary_namespace() -> list[Grant]:
    """For /readyz: the webhooks must refuse a job that is created in a dry run. In the operator's namespace, or in those of
    `--namespace`, since webhooks are called for no others then."""
    why = "the dry run behind /readyz"
    return [
        *(
            Grant(framework.info.resource, ("create",), why, kinds=(framework.info.resource.kind,))
            for framework in FRAMEWORKS
            if framework.info.is_judged_at_admission
        ),
        Grant(TRAIN_JOBS, ("create",), why, kinds=V2_KINDS),
    ]


def in_cluster() -> list[Grant]:
    """What is in no namespace."""
    runtimes = CLUSTER_TRAINING_RUNTIMES
    return [
        Grant(runtimes, ("list", "watch"), "the shared runtimes that jobs name", kinds=V2_KINDS),
        Grant(runtimes, ("get",), "one created a moment ago, when a job is admitted", kinds=V2_KINDS),
        Grant(runtimes, ("patch",), "take off the finalizer of earlier trainers", kinds=V2_KINDS),
        Grant(PRIORITY_CLASSES, ("get",), "whether the class of a gang exists, when a job is admitted", kinds=V2_KINDS),
        Grant(TOKEN_REVIEWS, ("create",), "whose token a report of progress shows", kinds=V2_KINDS, setting=_PROGRESS),
        Grant(TOKEN_REVIEWS, ("create",), "who wants to read metrics", setting=_METRICS_ACCESS),
        Grant(SUBJECT_ACCESS_REVIEWS, ("create",), "whether they may", setting=_METRICS_ACCESS),
        *_webhook_grants(V1_KINDS, training_webhooks()),
        *_webhook_grants(V2_KINDS, trainer_webhooks()),
    ]


def in_own_namespace(*, secret: Any, lease: Any) -> list[Grant]:
    """What the operator keeps for itself: the names of its Secret and its Lease."""
    return [
        Grant(LEASES, ("create",), "leader election: the first replica creates it; a create has no name to limit it to"),
        Grant(LEASES, ("get", "update"), "leader election", names=(lease,)),
        Grant(ENDPOINT_SLICES, ("list",), "whether any replica is ready; a list has no name to limit it to"),
        Grant(
            SECRETS,
            ("get", "create", "patch"),
            "the webhooks' certificate, shared by the replicas",
            names=(secret,),
            only_self_managed=True,
        ),
    ]


def _mpi_jobs() -> list[Grant]:
    """Who makes a Role must hold what it grants (RBAC's rule against escalation)."""
    kinds = (MPI_JOBS.kind,)
    passed_on = "what the launchers of MPIJobs may do with their workers: RBAC lets no one grant more than they hold"
    return [
        Grant(SERVICE_ACCOUNTS, ("list", "watch", "create"), "the accounts of the launchers of MPIJobs", kinds=kinds),
        Grant(CONFIG_MAPS, ("list", "watch", "create", "patch"), "the host lists and scripts of MPIJobs", kinds=kinds),
        Grant(ROLES, ("list", "watch", "create", "patch"), "what those launchers may do", kinds=kinds),
        Grant(ROLE_BINDINGS, ("list", "watch", "create"), "that they may", kinds=kinds),
        Grant(PODS, ("get",), passed_on, kinds=kinds, is_seen=False),
        Grant(PODS, ("create",), passed_on, subresource="exec", kinds=kinds, is_seen=False),
    ]


def _v1_job(resource: Resource) -> list[Grant]:
    kinds = (resource.kind,)
    return [
        Grant(resource, ("list", "watch"), "the jobs to reconcile", kinds=kinds),
        Grant(resource, ("delete",), "ttlSecondsAfterFinished", kinds=kinds),
        Grant(resource, ("patch",), "their conditions and counters", subresource="status", kinds=kinds),
        Grant(resource, ("update",), _OWNS, subresource="finalizers", kinds=kinds, is_seen=False),
    ]


def _webhook_grants(kinds: Sequence[str], configurations: Sequence[Configuration]) -> list[Grant]:
    grants = []
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        names = [configuration.name for configuration in configurations if configuration.resource == resource]
        if names:
            grants += [
                Grant(resource, ("get",), "whether it trusts our certificate", kinds=kinds, names=names),
                Grant(resource, ("patch",), "its caBundle", kinds=kinds, names=names, only_self_managed=True),
            ]
    return grants
