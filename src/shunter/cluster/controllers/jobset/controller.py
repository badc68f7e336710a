"""I/O layer of JobSets: what the planner sees, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.batch import Job
from shunter.api.core import Service
from shunter.api.jobset import JobSet
from shunter.api.meta import MetadataOnly
from shunter.api.resources import JOBS, JOBSETS, PERSISTENT_VOLUME_CLAIMS, SERVICES
from shunter.cluster.controllers.jobset.names import job_names
from shunter.cluster.controllers.jobset.plan import Observed, plan
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.kube.cache.store import Store, by_controller_uid
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

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
        FunctionReconciler(lambda key: observe(key, jobsets.store, jobs.store, services.store, claims.store), plan),
        primary=jobsets,
        owned=[jobs, services],
        mapped=[(claims, no_keys)],
        workers=8,
        recorder=manager.recorder(COMPONENT),
    )


def no_keys(claim: MetadataOnly) -> Iterable[Key]:
    """Claims are only created and never looked after."""
    return ()


def observe(
    key: Key, jobsets: Store[JobSet], jobs: Store[Job], services: Store[Service], claims: Store[MetadataOnly]
) -> Observed | None:
    """The JobSet, the Jobs that it controls, the Jobs with a name that one of its Jobs needs, whatever their owners, and the
    names of the services and claims in its namespace."""
    jobset = jobsets.get(key)
    if jobset is None:
        return None
    return Observed(
        jobset=jobset,
        jobs=jobs.by_index(CONTROLLER_UID, jobset.metadata.uid),
        named={name: job for name in job_names(jobset) if (job := jobs.get(Key(key.namespace, name)))},
        services=frozenset(service.metadata.name for service in services.list(key.namespace)),
        claims=frozenset(claim.metadata.name for claim in claims.list(key.namespace)),
    )
