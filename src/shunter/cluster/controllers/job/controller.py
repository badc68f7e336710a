"""I/O layer of Jobs: what each planner sees, from the shared caches."""

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
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.cache.mapping import enqueuing, to_controller
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "job-controller"
BATCH_SECONDS = 0.1
"""Pods of one Job change together: their changes are taken in together (Kubernetes waits a whole second)."""


def register(manager: Manager) -> None:
    """Adds the Job controller, the clean-up of orphaned pods, and the deletion of Jobs whose time is over."""
    jobs = manager.informer(JOBS, Job)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)

    def orphan(key: Key) -> Orphan | None:
        """The pod, and its Job unless that is gone or has been replaced by another Job of the same name."""
        pod = pods.store.get(key)
        if pod is None:
            return None
        owner = pod.metadata.controller
        job = jobs.store.get(Key(key.namespace, owner.name)) if owner else None
        return Orphan(pod=pod, job=job if job and owner and job.metadata.uid == owner.uid else None)

    controller = manager.controller(
        "job",
        FunctionReconciler(JobObserver(jobs.store, pods.store).observe, plan, plan_failure),
        primary=jobs,
        mapped=[(pods, lambda pod: adopters(pod, jobs.store))],
        workers=8,
        recorder=manager.recorder(COMPONENT, "v1"),
    )
    pods.add_handler(enqueuing(to_controller(JOBS), lambda key: controller.queue.add_after(key, BATCH_SECONDS)))
    manager.controller("job-ttl", FunctionReconciler(jobs.store.get, ttl.plan), primary=jobs, workers=1)
    manager.controller(
        "job-orphans",
        FunctionReconciler(orphan, lambda observed, _: orphans.plan(observed)),
        primary=pods,
        mapped=[(jobs, lambda job: tracked_pods(job, pods.store))],
        workers=1,
    )


def tracked_pods(job: Job, pods: Store[Pod]) -> Iterable[Key]:
    """The pods to look at again when a Job has ended or gone."""
    return [key_of(pod) for pod in pods.by_index(CONTROLLER_UID, job.metadata.uid) if pod.metadata.finalizers]


class JobObserver:
    """Observes Jobs, and remembers how their pods ended."""

    def __init__(self, jobs: Store[Job], pods: Store[Pod]) -> None:
        self._jobs = jobs
        self._pods = pods
        self._memory = FinishMemory()
        self._uids: dict[Key, str] = {}

    def observe(self, key: Key) -> Observed | None:
        """The Job, its pods, how pods that no longer exist ended, and the pods of its namespace that nothing controls. None for a
        Job that has ended or no longer exists; what was remembered about it is then forgotten."""
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
