"""I/O layer around the trainer's plans: TrainJobs, and what is left to do about runtimes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES, Resource
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.plan import NOTHING, Failure, Key, Patch, Plan, Ref
from shunter.operator.trainer.failed_pods import FailedPods
from shunter.operator.trainer.plan import Observed, plan, plan_failure
from shunter.operator.trainer.plugins import COMPANIONS
from shunter.operator.trainer.snapshot import KINDS, snapshot_name
from shunter.operator.trainer.statusserver.place import StatusServerPlace
from shunter.operator.trainer.views import ConfigMap, JobOfSet, LiveJobSet, Runtime

RUNTIME_INDEX = "runtime"
CONTROLLER_UID = "controller-uid"
LEGACY_FINALIZER = "trainer.kubeflow.org/resource-in-use"
"""Earlier releases held runtimes back while jobs used them; snapshots made that unnecessary."""

RANDOM_BYTES = 32

RuntimeStores = Mapping[Resource, Store[Runtime]]


def by_runtime(job: TrainJob) -> Iterable[str]:
    """The index of jobs by the runtime they refer to."""
    reference = job.spec.runtime_ref
    namespace = job.metadata.namespace if reference.kind == TRAINING_RUNTIMES.kind else ""
    return (f"{reference.kind}/{namespace}/{reference.name}",)


def train_job_of(job: JobOfSet) -> Iterable[Key]:
    """The TrainJob that a Job concerns while it is suspended: then it may wait for the Job's pods to go."""
    owner = job.metadata.controller
    return (Key(job.metadata.namespace, owner.name),) if job.spec.suspend and owner is not None else ()


class TrainJobReconciler:
    """The controller of TrainJobs: reads caches, and lets `trainer.plan` decide."""

    def __init__(
        self,
        jobs: Store[TrainJob],
        runtimes: RuntimeStores,
        config_maps: Store[ConfigMap],
        jobsets: Store[LiveJobSet],
        jobs_of_sets: Store[JobOfSet],
        failed_pods: FailedPods,
        companions: Mapping[Resource, Store[Any]],
        *,
        uninstalled: Callable[[], frozenset[Resource]] = frozenset,
        status_server: Callable[[], StatusServerPlace | None] = lambda: None,
    ) -> None:
        """`jobs_of_sets` has the index CONTROLLER_UID; `companions` are the stores of all kinds that COMPANIONS names."""
        self._jobs = jobs
        self._runtimes = runtimes
        self._config_maps = config_maps
        self._jobsets = jobsets
        self._jobs_of_sets = jobs_of_sets
        self._failed_pods = failed_pods
        self._companions = companions
        self._uninstalled = uninstalled
        self._status_server = status_server

    def observe(self, key: Key) -> Observed | None:
        """The job and what the caches have of its objects, with new random bytes each time; None when it is gone, and then what
        failed in its pods is forgotten."""
        job = self._jobs.get(key)
        if job is None:
            self._failed_pods.forget(key)
            return None
        jobset = self._jobsets.get(key)
        return Observed(
            job=job,
            runtime=present_runtime(job, self._runtimes),
            snapshot=self._config_maps.get(Key(key.namespace, snapshot_name(key.name))),
            jobset=jobset,
            jobs=self._jobs_of_sets.by_index(CONTROLLER_UID, jobset.metadata.uid) if jobset else (),
            failed_pods=self._failed_pods.of(job),
            companions={
                companion: found
                for companion in COMPANIONS
                if (found := self._companions[companion.resource].get(Key(key.namespace, companion.name(job))))
            },
            uninstalled=self._uninstalled(),
            randomness=secrets.token_bytes(RANDOM_BYTES),
            status_server=self._status_server(),
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Returns the plan of `trainer.plan.plan`."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Returns the plan of `trainer.plan.plan_failure`."""
        return plan_failure(observed, failure, now)

    def waiting_for(self, resource: Resource) -> Callable[[Runtime], Iterable[Key]]:
        """Returns a mapping from a runtime to the jobs that refer to it and have no snapshot yet. Jobs with a snapshot ignore
        changes of the runtime."""

        def keys(runtime: Runtime) -> Iterable[Key]:
            reference = f"{resource.kind}/{runtime.metadata.namespace}/{runtime.metadata.name}"
            jobs = map(key_of, self._jobs.by_index(RUNTIME_INDEX, reference))
            return [key for key in jobs if self._config_maps.get(Key(key.namespace, snapshot_name(key.name))) is None]

        return keys


def present_runtime(job: TrainJob, runtimes: RuntimeStores) -> dict[str, object] | None:
    """The runtime that the job refers to as it is now, or None."""
    reference = job.spec.runtime_ref
    resource = KINDS.get((reference.kind, reference.api_group))
    if resource is None:
        return None
    namespace = job.metadata.namespace if resource.namespaced else ""
    runtime = runtimes[resource].get(Key(namespace, reference.name))
    return runtime.json(resource) if runtime else None


class RuntimeReconciler:
    """Takes the finalizer of earlier releases off runtimes of one kind, so that they can be deleted."""

    def __init__(self, resource: Resource, runtimes: Store[Runtime]) -> None:
        self._resource = resource
        self._runtimes = runtimes

    def observe(self, key: Key) -> Runtime | None:
        """The runtime as it is cached; None when it is gone."""
        return self._runtimes.get(key)

    def plan(self, observed: Runtime, now: datetime) -> Plan:
        """A patch without the finalizer, which the server refuses when the runtime was changed meanwhile; nothing where it has
        none."""
        metadata = observed.metadata
        if LEGACY_FINALIZER not in metadata.finalizers:
            return NOTHING
        kept = [finalizer for finalizer in metadata.finalizers if finalizer != LEGACY_FINALIZER]
        ref = Ref.of(self._resource, metadata)
        patch = {"metadata": {"finalizers": kept, "resourceVersion": metadata.resource_version}}
        return Plan(writes=(Patch(ref=ref, patch=patch),))

    def plan_failure(self, observed: Runtime, failure: Failure, now: datetime) -> Plan:
        """No events; the key is tried again with back-off."""
        return NOTHING


RUNTIMES = (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)
