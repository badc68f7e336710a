"""CronJobs and Jobs of the tests, and what is read of a plan."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shunter.api.batch import CronJob, Job
from shunter.api.meta import Json
from shunter.cluster.controllers.cronjob.plan import Observed, plan
from shunter.kube.controllers.plan import Create, Delete, Plan

CREATED = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def cron_job(status: Json | None = None, **spec: Any) -> CronJob:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}}
    body = {
        "metadata": {"name": "tick", "namespace": "n", "uid": "u", "creationTimestamp": CREATED.isoformat()},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": template, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, CronJob)


def job(name: str, *, ended: str = "", minute: int = 0, by_hand: bool = False) -> Job:
    annotations = {} if by_hand else {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-21T12:05:00Z"}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "u", "controller": True}
    started = CREATED + timedelta(minutes=minute)
    status: Json = {"startTime": started.isoformat()}
    if ended:
        status["conditions"] = [{"type": ended, "status": "True"}]
    if ended == "Complete":
        status["completionTime"] = (started + timedelta(seconds=20)).isoformat()
    metadata = {"name": name, "namespace": "n", "uid": name, "annotations": annotations, "ownerReferences": [owner]}
    return msgspec.convert({"metadata": metadata, "status": status}, Job)


def active(*names: str) -> Json:
    return {"active": [{"kind": "Job", "namespace": "n", "name": name, "uid": name, "apiVersion": "batch/v1"} for name in names]}


def planned(cron: CronJob, *jobs: Job, minutes: float) -> Plan:
    return plan(Observed(cron_job=cron, jobs=jobs), CREATED + timedelta(minutes=minutes))


def created(done: Plan) -> list[str]:
    return [write.body["metadata"]["name"] for write in done.writes if isinstance(write, Create)]


def deleted(done: Plan) -> list[str]:
    return [write.ref.name for write in done.writes if isinstance(write, Delete)]


def reasons(done: Plan) -> list[str]:
    return [event.reason for event in done.events]


def minute_of(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp()) // 60
