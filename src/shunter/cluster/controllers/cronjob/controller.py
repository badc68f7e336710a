"""I/O layer: what the planner sees of CronJobs, from the shared caches."""

from __future__ import annotations

from shunter.api.batch import CronJob, Job
from shunter.api.resources import CRON_JOBS, JOBS
from shunter.cluster.controllers.cronjob.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID
from shunter.kube.cache.store import by_controller_uid
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "cronjob-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    cron_jobs = manager.informer(CRON_JOBS, CronJob)
    jobs = manager.informer(JOBS, Job, indexes={CONTROLLER_UID: by_controller_uid})

    def observe(key: Key) -> Observed | None:
        """The CronJob and the Jobs that it controls."""
        cron_job = cron_jobs.store.get(key)
        if cron_job is None:
            return None
        return Observed(cron_job=cron_job, jobs=jobs.store.by_index(CONTROLLER_UID, cron_job.metadata.uid))

    manager.controller(
        "cronjob",
        FunctionReconciler(observe, plan, plan_failure),
        primary=cron_jobs,
        owned=[jobs],
        recorder=manager.recorder(COMPONENT, "v1"),
    )
