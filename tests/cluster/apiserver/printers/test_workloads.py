"""What kubectl get shows of Jobs, ReplicaSets, DaemonSets and disruption budgets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shunter.cluster.apiserver.printers.workloads import PRINTERS as WORKLOADS

Json = dict[str, Any]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def ago(**delta: float) -> str:
    return (NOW - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 3}, {"succeeded": 1}, ["Running", "1/3", ""]),
        ({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""]),
        ({}, {"startTime": ago(seconds=30)}, ["Running", "0/1", "30s"]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": ago(seconds=30),
                "completionTime": ago(seconds=20),
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "10s"],
        ),
        ({"completions": 1}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
    ],
)
def test_job_line(spec: Json, status: Json, shown: list[str]) -> None:
    job = {"metadata": {"name": "j", "creationTimestamp": ago(hours=1)}, "spec": spec, "status": status}
    assert WORKLOADS["batch", "Job"].cells(job, NOW)[1:4] == shown


WHOLE_NUMBERS = {
    ("apps", "ReplicaSet"): ["Desired", "Current", "Ready"],
    ("apps", "DaemonSet"): ["Desired", "Current", "Ready", "Up-to-date", "Available"],
    ("policy", "PodDisruptionBudget"): ["Allowed Disruptions"],
}


@pytest.mark.parametrize("kind", WHOLE_NUMBERS, ids=[kind for _, kind in WHOLE_NUMBERS])
def test_counts_are_columns_of_whole_numbers(kind: tuple[str, str]) -> None:
    """Clients sort such columns as numbers."""
    assert [one.name for one in WORKLOADS[kind].columns if one.type == "integer"] == WHOLE_NUMBERS[kind]
