"""The shell: what the planner sees of CronJobs, from the shared caches."""

from __future__ import annotations

from datetime import datetime

from shunter.api.batch import CronJob, Job
from shunter.api.resources import CRON_JOBS, JOBS
from shunter.cluster.controllers.cronjob.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID
from shunter.kube.cache.store import Store, by_controller_uid
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Failure, Key, Plan

COMPONENT = "cronjob-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    cron_jobs = manager.informer(CRON_JOBS, CronJob)
    jobs = manager.informer(JOBS, Job, indexes={CONTROLLER_UID: by_controller_uid})
    manager.controller(
        "cronjob",
        CronJobReconciler(cron_jobs.store, jobs.store),
        primary=cron_jobs,
        owned=[jobs],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


class CronJobReconciler:
    """Jobs for CronJobs."""

    def __init__(self, cron_jobs: Store[CronJob], jobs: Store[Job]) -> None:
        self._cron_jobs = cron_jobs
        self._jobs = jobs

    def observe(self, key: Key) -> Observed | None:
        """The CronJob and the Jobs that it controls; None when there is no such CronJob."""
        cron_job = self._cron_jobs.get(key)
        if cron_job is None:
            return None
        return Observed(cron_job=cron_job, jobs=self._jobs.by_index(CONTROLLER_UID, cron_job.metadata.uid))

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Starts the Job that is due, deletes ended Jobs beyond the history limits, and writes the status."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """The event FailedCreate for a refused Job, unless its name is taken; any other refusal is only tried again."""
        return plan_failure(observed, failure, now)
