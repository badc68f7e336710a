"""A JobSet that people made themselves is looked at as other jobs are."""

from __future__ import annotations

import pytest

from shunter.doctor.jobsets import as_training
from shunter.operator.overview import overview

STATES = {
    "Created": {},
    "Running": {"replicatedJobsStatus": [{"name": "workers", "active": 1, "ready": 1}]},
    "Succeeded": {"conditions": [{"type": "Completed", "status": "True"}]},
    "Failed": {"conditions": [{"type": "Failed", "status": "True", "reason": "FailedJobs"}]},
    "Suspended": {"conditions": [{"type": "Suspended", "status": "True"}]},
}


@pytest.mark.parametrize(("state", "status"), STATES.items(), ids=list(STATES))
def test_its_state_and_ranks_are_those_of_its_pods(state: str, status: dict[str, object]) -> None:
    groups = [
        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 3}}},
        {"name": "driver", "template": {"spec": {}}},
        {"name": "dataset-initializer", "template": {"spec": {}}},
        {"name": "stopped", "template": {"spec": {"parallelism": 0}}},
    ]
    row = overview(
        as_training(
            {"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": {"replicatedJobs": groups}, "status": status}
        )
    )
    assert (row.kind, row.state, row.ranks) == ("JobSet", state, 7)
