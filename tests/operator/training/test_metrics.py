"""Counters of jobs: each outcome once."""

from __future__ import annotations

import msgspec
from prometheus_client import CollectorRegistry

from shunter.api.meta import Json
from shunter.api.training.pytorch import PyTorchJob
from shunter.operator.training.metrics import JobMetrics


def job(*types: str, policy: Json | None = None) -> PyTorchJob:
    status = {"conditions": [{"type": type, "status": "True"} for type in types]}
    spec = {"runPolicy": policy or {}}
    return msgspec.convert({"metadata": {"name": "j", "namespace": "ns"}, "spec": spec, "status": status}, PyTorchJob)


def test_each_outcome_is_counted_when_it_arrives() -> None:
    registry = CollectorRegistry()
    count = JobMetrics(registry).handler("pytorch")
    new, running, done = job(), job("Created"), job("Created", "Succeeded", policy={"ttlSecondsAfterFinished": 1})
    for old, now in ((None, new), (new, running), (running, done), (done, done), (None, running), (done, None), (running, None)):
        count(old, now)
    labels = {"job_namespace": "ns", "framework": "pytorch"}
    totals = {
        event: registry.get_sample_value(f"training_operator_jobs_{event}_total", labels)
        for event in ("created", "successful", "failed", "deleted")
    }
    assert totals == {"created": 1, "successful": 1, "failed": None, "deleted": 1}
