"""JAXJobs: what their Workers are told."""

from __future__ import annotations

from framework_jobs import JAX, environments


def test_workers_are_told_the_coordinator_and_their_number() -> None:
    told = environments(JAX, {"Worker": 2})
    shared = {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "6666",
        "COORDINATOR_ADDRESS": "job-worker-0",
        "NUM_PROCESSES": "2",
    }
    assert told == {"job-worker-0": {**shared, "PROCESS_ID": "0"}, "job-worker-1": {**shared, "PROCESS_ID": "1"}}
