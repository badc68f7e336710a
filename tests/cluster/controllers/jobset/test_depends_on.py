"""When a replicated job that depends on others may start."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.jobset import DependsOn, JobSet, ReplicatedJob, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.depends_on import is_released

JOBSET = msgspec.convert({"spec": {"replicatedJobs": [{"name": "data", "replicas": 2}, {"name": "model"}]}}, JobSet)


def waiting(**on: str) -> ReplicatedJob:
    return ReplicatedJob(name="train", depends_on=tuple(DependsOn(name, status) for name, status in on.items()))


@pytest.mark.parametrize(
    ("on", "statuses", "released"),
    [
        pytest.param({}, [], True, id="depends on nothing"),
        pytest.param({"data": "Complete"}, [], False, id="no status yet"),
        pytest.param({"data": "Complete"}, [ReplicatedJobStatus("data", succeeded=1)], False, id="one of two has succeeded"),
        pytest.param({"data": "Complete"}, [ReplicatedJobStatus("data", ready=1, succeeded=1)], False, id="ready, not complete"),
        pytest.param({"data": "Complete"}, [ReplicatedJobStatus("data", succeeded=2)], True, id="both have succeeded"),
        pytest.param({"data": "Ready"}, [ReplicatedJobStatus("data", ready=1)], False, id="one of two is ready"),
        pytest.param({"data": "Ready"}, [ReplicatedJobStatus("data", active=2)], False, id="both run and are not ready"),
        pytest.param({"data": "Ready"}, [ReplicatedJobStatus("data", ready=1, failed=1)], True, id="who failed was ready"),
        pytest.param(
            {"data": "Complete", "model": "Ready"},
            [ReplicatedJobStatus("data", succeeded=2), ReplicatedJobStatus("model")],
            False,
            id="one dependency of two",
        ),
        pytest.param(
            {"data": "Complete", "model": "Ready"},
            [ReplicatedJobStatus("data", succeeded=2), ReplicatedJobStatus("model", ready=1)],
            True,
            id="both dependencies",
        ),
    ],
)
def test_a_replicated_job_starts_when_all_that_it_depends_on_is_there(
    on: dict[str, str], statuses: list[ReplicatedJobStatus], *, released: bool
) -> None:
    assert is_released(JOBSET, waiting(**on), tuple(statuses)) is released
