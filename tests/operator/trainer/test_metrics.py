"""Counters of TrainJobs: each outcome once, whatever arrives again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.metrics import TrainJobMetrics
from shunter.operator.trainer.views import LiveJobSet

CREATED = "2026-11-21T11:00:00Z"


def job(*types: str, ready: int | None = None, reason: str = "Why") -> TrainJob:
    counters = (
        [] if ready is None else [{"name": "node", "ready": ready, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
    )
    conditions = [{"type": type, "status": "True", "reason": reason} for type in types]
    metadata = {"name": "j", "namespace": "ns", "uid": "u", "creationTimestamp": CREATED}
    return msgspec.convert({"metadata": metadata, "status": {"conditions": conditions, "jobsStatus": counters}}, TrainJob)


def totals(registry: CollectorRegistry, **labels: str) -> dict[str, float | None]:
    names = {
        "created": "kubeflow_trainer_jobs_created_total",
        "completed": "kubeflow_trainer_jobs_completed_total",
        "failed": "kubeflow_trainer_jobs_failed_total",
        "suspended": "kubeflow_trainer_jobs_suspended_total",
    }
    return {
        event: registry.get_sample_value(name, {"namespace": "ns", **({} if event == "created" else {"reason": "Why"}), **labels})
        for event, name in names.items()
    }


def counting() -> tuple[CollectorRegistry, TrainJobMetrics]:
    registry = CollectorRegistry()
    return registry, TrainJobMetrics(registry, now=lambda: datetime(2026, 11, 21, 11, 0, 3, tzinfo=UTC))


def test_each_outcome_is_counted_when_it_arrives() -> None:
    registry, metrics = counting()
    new, running, done = job(), job(ready=1), job("Complete", ready=0)
    changes: list[tuple[Any, Any]] = [(None, new), (new, running), (running, done), (done, done), (done, None), (None, done)]
    for old, now in changes:
        metrics.job_changed(old, now)
    assert totals(registry) == {"created": 1, "completed": 1, "failed": None, "suspended": None}


def test_failures_and_suspensions_are_counted_by_their_reasons() -> None:
    registry, metrics = counting()
    metrics.job_changed(job(), job("Suspended"))
    metrics.job_changed(job("Suspended"), job("Failed"))
    assert totals(registry) == {"created": None, "completed": None, "failed": 1, "suspended": 1}


def test_the_way_to_running_is_measured_once() -> None:
    registry, metrics = counting()
    for old, new in ((job(), job(ready=1)), (job(ready=1), job(ready=0)), (job(ready=0), job(ready=1))):
        metrics.job_changed(old, new)
    assert registry.get_sample_value("kubeflow_trainer_job_time_to_running_seconds_count") == 1
    assert registry.get_sample_value("kubeflow_trainer_job_time_to_running_seconds_sum") == 3


def test_a_job_that_ran_before_the_operator_started_is_not_measured() -> None:
    registry, metrics = counting()
    metrics.job_changed(None, job(ready=1))
    metrics.job_changed(job(ready=0), job(ready=1))
    assert registry.get_sample_value("kubeflow_trainer_job_time_to_running_seconds_count") == 0


def test_restarts_of_the_jobset_are_counted() -> None:
    registry, metrics = counting()

    def jobset(restarts: int, uid: str = "u") -> LiveJobSet:
        return msgspec.convert(
            {"metadata": {"name": "j", "namespace": "ns", "uid": uid}, "status": {"restarts": restarts}}, LiveJobSet
        )

    for old, new in ((None, jobset(3)), (jobset(0), jobset(2)), (jobset(2), jobset(0, "other")), (jobset(2), None)):
        metrics.jobset_changed(old, new)
    assert registry.get_sample_value("kubeflow_trainer_job_restarts_total", {"namespace": "ns"}) == 2
