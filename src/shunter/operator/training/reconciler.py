"""I/O layer around the engine: reads what a job owns from the caches, and lets `plan` decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from shunter.api.core import Pod, Service
from shunter.api.meta import ObjectMeta
from shunter.api.resources import Resource
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.training.job import JobView
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.mapping import Mapping as KeyMapping
from shunter.kube.cache.store import Object, Store, by_controller_uid
from shunter.kube.controllers.plan import Failure, Key, Plan
from shunter.operator.deleted_pods import Deletions
from shunter.operator.ended_pods import EndedPods
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.children import children_of
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.gang import Gang
from shunter.operator.training.job import AnyJob, controller_name
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure

CONTROLLER_INDEX = "controller"
ORPHANS_INDEX = "orphans"
INDEXES = {CONTROLLER_INDEX: by_controller_uid}


def orphans_by_job(obj: Object) -> Iterable[str]:
    """The index of objects without an owner by the job that their labels name."""
    return () if obj.metadata.controller else (_labelled(obj.metadata),)


def map_unowned_service(resource: Resource) -> KeyMapping[Service]:
    """Maps a service without an owner to the job of this kind that its labels name, which must replace it once it is gone."""

    def keys(service: Service) -> Iterable[Key]:
        metadata = service.metadata
        if metadata.controller or metadata.labels.get(OPERATOR_NAME) != controller_name(resource.kind):
            return ()
        return (Key(metadata.namespace, metadata.labels.get(JOB_NAME, "")),)

    return keys


SERVICE_INDEXES = {**INDEXES, ORPHANS_INDEX: orphans_by_job}
CHILD_SELECTOR = JOB_NAME
"""All pods and services of training jobs, and only they, have this label: no others are cached."""


class Gangs(NamedTuple):
    """What the operator knows of all gangs: their scheduler and its PodGroups."""

    scheduler: str
    groups: Informer[PodGroup]

    def of(self, key: Key) -> Gang:
        """The gang of the job of this name."""
        return Gang(scheduler=self.scheduler, group=self.groups.store.get(key), is_served=not self.groups.is_kind_missing)


class TrainingReconciler:
    """The controller of one job kind."""

    def __init__(
        self,
        framework: AnyFramework,
        jobs: Store[JobView],
        pods: Store[Pod],
        services: Store[Service],
        autoscalers: Store[Autoscaler],
        *,
        deletions: Deletions,
        ended_pods: EndedPods,
        default_backoff_limit: int | None = None,
        gangs: Gangs | None = None,
        kept: Mapping[Resource, Store[Any]] = {},
    ) -> None:
        self._framework = framework
        self._default_backoff_limit = default_backoff_limit
        self._jobs = jobs
        self._pods = pods
        self._deletions = deletions
        self._ended_pods = ended_pods
        self._services = services
        self._autoscalers = autoscalers
        self._gangs = gangs
        self._kept = kept

    def observe(self, key: Key) -> Observed | None:
        """The job with its defaults, its faults and its cached objects; None when it is gone. Pods have their first deletion
        time."""
        view = self._jobs.get(key)
        if view is None:
            return None
        job = self._with_backoff_limit(self._framework.read(view))
        faults, _ = self._framework.validate(view, None)
        uid = job.metadata.uid
        pods = map(self._deletions.with_first_deletion, self._pods.by_index(CONTROLLER_INDEX, uid))
        services = [
            *self._services.by_index(CONTROLLER_INDEX, uid),
            *self._services.by_index(ORPHANS_INDEX, _own_label(job)),
        ]
        return Observed(
            job=job,
            faults=tuple(faults),
            children=children_of(job, pods, services),
            ended=self._ended_pods.revisions,
            gang=self._gangs.of(key) if self._gangs else None,
            autoscaler=self._autoscalers.get(key),
            kept=self._present(job),
        )

    def _present(self, job: AnyJob) -> Mapping[Resource, Any]:
        names = self._framework.extra_object_names(job).items()
        found = {resource: self._kept[resource].get(Key(job.namespace, name)) for resource, name in names}
        return {resource: obj for resource, obj in found.items() if obj is not None}

    def _with_backoff_limit(self, job: AnyJob) -> AnyJob:
        if self._default_backoff_limit is None or job.run_policy.backoff_limit is not None:
            return job
        policy = msgspec.structs.replace(job.run_policy, backoff_limit=self._default_backoff_limit)
        return msgspec.structs.replace(job, run_policy=policy)

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Returns the plan of `training.plan.plan`, which gets the kind's framework."""
        return plan(self._framework, observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Returns the plan of `training.plan.plan_failure`, which gets the kind's framework."""
        return plan_failure(self._framework, observed, failure, now)


def _own_label(job: AnyJob) -> str:
    return f"{job.namespace}/{job.controller}/{job.name}"


def _labelled(metadata: ObjectMeta) -> str:
    return f"{metadata.namespace}/{metadata.labels.get(OPERATOR_NAME, '')}/{metadata.labels.get(JOB_NAME, '')}"
