"""The shells of the Job room: what each planner sees, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.api.resources import JOBS, PODS
from shunter.cluster.controllers.job import orphans, ttl
from shunter.cluster.controllers.job.memory import FinishMemory
from shunter.cluster.controllers.job.orphans import Orphan
from shunter.cluster.controllers.job.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.cache.mapping import enqueuing, to_controller
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Failure, Key, Plan

COMPONENT = "job-controller"
BATCH_SECONDS = 0.1
"""Pods of one Job change together: their changes are taken in together (Kubernetes waits a whole second)."""


def register(manager: Manager) -> None:
    """Adds the Job controller, the clean-up of orphaned pods, and the deletion of Jobs whose time is over."""
    jobs = manager.informer(JOBS, Job)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)
    controller = manager.controller(
        "job",
        JobReconciler(jobs.store, pods.store),
        primary=jobs,
        mapped=[(pods, lambda pod: adopters(pod, jobs.store))],
        workers=8,
        recorder=manager.recorder(COMPONENT, "v1"),
    )
    pods.add_handler(enqueuing(to_controller(JOBS), lambda key: controller.queue.add_after(key, BATCH_SECONDS)))
    manager.controller("job-ttl", TtlReconciler(jobs.store), primary=jobs, workers=1)
    manager.controller(
        "job-orphans",
        OrphanReconciler(jobs.store, pods.store),
        primary=pods,
        mapped=[(jobs, lambda job: tracked_pods(job, pods.store))],
        workers=1,
    )


def tracked_pods(job: Job, pods: Store[Pod]) -> Iterable[Key]:
    """The pods to look at again when a Job has ended or gone."""
    return [key_of(pod) for pod in pods.by_index(CONTROLLER_UID, job.metadata.uid) if pod.metadata.finalizers]


class JobReconciler:
    """Pods for Jobs."""

    def __init__(self, jobs: Store[Job], pods: Store[Pod]) -> None:
        self._jobs = jobs
        self._pods = pods
        self._memory = FinishMemory()
        self._uids: dict[Key, str] = {}

    def observe(self, key: Key) -> Observed | None:
        """The Job, its pods with what is remembered of those that are gone, and pods of its namespace that nothing controls. None
        for a Job that has ended or is gone, whose past is forgotten then."""
        job = self._jobs.get(key)
        current = job.metadata.uid if job is not None and job.outcome is None else ""
        if self._uids.get(key, current) != current:
            self._memory.forget(self._uids.pop(key))
        if job is None or not current:
            return None
        self._uids[key] = current
        controlled = self._pods.by_index(CONTROLLER_UID, job.metadata.uid)
        pods = (*controlled, *self._pods.by_index(UNCONTROLLED, key.namespace))
        return Observed(job=job, pods=pods, past=self._memory.past(job, controlled, datetime.now(UTC)))

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Adopts, creates and deletes pods, and writes the status; nothing for a Job that another controller manages."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """After a refused pod the status, in which pods that were still to be created are not active; any other refusal is only
        tried again."""
        return plan_failure(observed, failure, now)


class TtlReconciler:
    """Deletes Jobs whose time after their end is over."""

    def __init__(self, jobs: Store[Job]) -> None:
        self._jobs = jobs

    def observe(self, key: Key) -> Job | None:
        """The Job, whether or not it has ended."""
        return self._jobs.get(key)

    def plan(self, observed: Job, now: datetime) -> Plan:
        """Deletes a Job that ended ttlSecondsAfterFinished ago or earlier, or looks again when it is due."""
        return ttl.plan(observed, now)

    def plan_failure(self, observed: Job, failure: Failure, now: datetime) -> Plan:
        """Nothing: a refused deletion is only tried again."""
        return NOTHING


class OrphanReconciler:
    """Takes the tracking finalizer off pods whose Job is gone or has ended."""

    def __init__(self, jobs: Store[Job], pods: Store[Pod]) -> None:
        self._jobs = jobs
        self._pods = pods

    def observe(self, key: Key) -> Orphan | None:
        """The pod, and its Job unless that is gone or another one has its name."""
        pod = self._pods.get(key)
        if pod is None:
            return None
        owner = pod.metadata.controller
        job = self._jobs.get(Key(key.namespace, owner.name)) if owner else None
        return Orphan(pod=pod, job=job if job and owner and job.metadata.uid == owner.uid else None)

    def plan(self, observed: Orphan, now: datetime) -> Plan:
        """Takes the tracking finalizer off, unless a Job will still count the pod; `now` does not matter."""
        return orphans.plan(observed)

    def plan_failure(self, observed: Orphan, failure: Failure, now: datetime) -> Plan:
        """Nothing: a refused write is only tried again."""
        return NOTHING
