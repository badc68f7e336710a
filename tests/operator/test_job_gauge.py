"""Since when the oldest waiting job waits: what was suspended, or ran, in between has not waited all the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json, rfc3339
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.pytorch import PyTorchJob
from shunter.kube.cache.store import Store
from shunter.operator.job_gauge import CountedKind, JobGauge, v1_state, v2_state

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(kind: type[Any], *conditions: tuple[str, str, int], name: str = "a") -> Any:
    """Created at START, with these conditions: type, status, and after how many minutes it changed."""
    found: list[Json] = [
        {
            "type": type,
            "status": status,
            "reason": "R",
            "message": "",
            "lastTransitionTime": rfc3339(START + timedelta(minutes=at)),
        }
        for type, status, at in conditions
    ]
    metadata = {"name": name, "namespace": "n", "uid": name, "creationTimestamp": rfc3339(START)}
    return msgspec.convert({"metadata": metadata, "spec": {}, "status": {"conditions": found}}, kind)


def oldest(counted: CountedKind) -> float | None:
    """In minutes from START."""
    _, family = JobGauge([counted]).collect()
    minutes = [(sample.value - START.timestamp()) / 60 for sample in family.samples]
    assert len(minutes) < 2
    return minutes[0] if minutes else None


def counted(*jobs: Any) -> CountedKind:
    store: Store[Any] = Store()
    for one in jobs:
        store.put(one)
    return CountedKind("Job", store, v2_state if isinstance(jobs[0], TrainJob) else v1_state)


@pytest.mark.parametrize(
    ("conditions", "since"),
    [
        ([], 0),
        ([("Suspended", "True", 1)], None),
        ([("Suspended", "False", 600)], 600),
        ([("Created", "False", 30)], 0),
    ],
    ids=["created", "suspended", "resumed", "a condition that is no other state"],
)
def test_since_when_a_trainjob_waits(conditions: list[tuple[str, str, int]], since: float | None) -> None:
    assert oldest(counted(job(TrainJob, *conditions))) == since


@pytest.mark.parametrize(
    ("conditions", "since"),
    [
        ([("Created", "True", 1)], 0),
        ([("Created", "True", 1), ("Running", "True", 2)], None),
        ([("Created", "True", 1), ("Running", "False", 60), ("Suspended", "False", 600)], 600),
    ],
    ids=["created", "runs", "resumed"],
)
def test_since_when_a_job_of_v1_waits(conditions: list[tuple[str, str, int]], since: float | None) -> None:
    assert oldest(counted(job(PyTorchJob, *conditions))) == since


def test_the_job_that_has_waited_longest_counts() -> None:
    jobs = [job(TrainJob, ("Suspended", "False", at), name=str(at)) for at in (90, 30, 60)]
    assert oldest(counted(*jobs)) == 30
