"""The list of all jobs."""

from __future__ import annotations

from typing import Any

from shunter.api.resources import TRAIN_JOBS
from shunter.jobs.listing import listed
from stored_objects import StoredObjects


def train_job(name: str, created: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"runtimeRef": {"name": "torch-distributed"}}}


async def test_jobs_are_listed_the_oldest_first_then_by_name() -> None:
    morning, noon = "2026-01-01T08:00:00Z", "2026-01-01T12:00:00Z"
    jobs = [train_job("c", noon), train_job("b", noon), train_job("z", morning)]
    server = StoredObjects(*((TRAIN_JOBS, job) for job in jobs))
    assert [row.job.name for row in (await listed(server.client, "team")).rows] == ["z", "b", "c"]
