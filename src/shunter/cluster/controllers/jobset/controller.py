"""The shell of the JobSet room: what the planner sees, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shunter.api.batch import Job
from shunter.api.core import Service
from shunter.api.jobset import JobSet
from shunter.api.meta import MetadataOnly
from shunter.api.resources import JOBS, JOBSETS, PERSISTENT_VOLUME_CLAIMS, SERVICES
from shunter.cluster.controllers.jobset.names import job_names
from shunter.cluster.controllers.jobset.plan import Observed, plan
from shunter.kube.cache.store import Store, by_controller_uid
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Failure, Key, Plan

COMPONENT = "jobset"
CONTROLLER_UID = "controller-uid"


def register(manager: Manager) -> None:
    """Adds the JobSet controller; it starts when the server serves JobSets."""
    jobsets = manager.informer(JOBSETS, JobSet)
    jobs = manager.informer(JOBS, Job, indexes={CONTROLLER_UID: by_controller_uid})
    services = manager.informer(SERVICES, Service)
    claims = manager.informer(PERSISTENT_VOLUME_CLAIMS, MetadataOnly)
    manager.controller(
        "jobset",
        JobSetReconciler(jobsets.store, jobs.store, services.store, claims.store),
        primary=jobsets,
        owned=[jobs, services],
        mapped=[(claims, no_keys)],
        workers=8,
        recorder=manager.recorder(COMPONENT),
    )


def no_keys(claim: MetadataOnly) -> Iterable[Key]:
    """Claims are only created and never looked after."""
    return ()


class JobSetReconciler:
    """Jobs, services and claims for JobSets."""

    def __init__(self, jobsets: Store[JobSet], jobs: Store[Job], services: Store[Service], claims: Store[MetadataOnly]) -> None:
        self._jobsets = jobsets
        self._jobs = jobs
        self._services = services
        self._claims = claims

    def observe(self, key: Key) -> Observed | None:
        """The JobSet, the Jobs that it controls, the Jobs that have a name of its Jobs whoever owns them, and the names of
        services and claims in its namespace. None when there is no such JobSet."""
        jobset = self._jobsets.get(key)
        if jobset is None:
            return None
        return Observed(
            jobset=jobset,
            jobs=self._jobs.by_index(CONTROLLER_UID, jobset.metadata.uid),
            named={name: job for name in job_names(jobset) if (job := self._jobs.get(Key(key.namespace, name)))},
            services=frozenset(service.metadata.name for service in self._services.list(key.namespace)),
            claims=frozenset(claim.metadata.name for claim in self._claims.list(key.namespace)),
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Writes Jobs, the service, claims and the status; nothing for a JobSet that is being deleted or managed by another
        controller."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Nothing: a refused write is only tried again."""
        return NOTHING
