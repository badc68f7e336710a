"""What remains of a finished job: cleanPodPolicy and ttlSecondsAfterFinished."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.converted_job import converted
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("policy", "ttl", "told"),
    [
        pytest.param({}, None, [], id="nothing is said: v1 deletes nothing"),
        pytest.param({"cleanPodPolicy": "None"}, None, ["CLEAN001"], id="None: what still runs is stopped in v2"),
        pytest.param({"cleanPodPolicy": "Running"}, None, [], id="Running"),
        pytest.param({"cleanPodPolicy": "All"}, 60, ["CLEAN003"], id="All"),
        pytest.param({"cleanPodPolicy": "all"}, 60, ["CLEAN003"], id="another value deletes all, as in v1"),
        pytest.param({"cleanPodPolicy": ""}, 60, ["CLEAN003"], id="an empty one, too"),
        pytest.param({"cleanPodPolicy": None}, None, [], id="null"),
        pytest.param({"ttlSecondsAfterFinished": 0}, 60, ["TTL001", "TTL002"], id="no time"),
        pytest.param({"ttlSecondsAfterFinished": -1}, 60, ["TTL001", "TTL002"], id="less than none"),
        pytest.param({"ttlSecondsAfterFinished": 59}, 60, ["TTL001", "TTL002"], id="a second too short"),
        pytest.param({"ttlSecondsAfterFinished": 60}, 60, ["TTL001"], id="just long enough"),
        pytest.param({"ttlSecondsAfterFinished": 2**31 - 1}, 2**31 - 1, ["TTL001"], id="68 years"),
        pytest.param(
            {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 300}, 60, ["CLEAN003", "TTL001"], id="the shorter time wins"
        ),
        pytest.param(
            {"cleanPodPolicy": "None", "ttlSecondsAfterFinished": 300}, 300, ["CLEAN001", "TTL001"], id="the job's time alone"
        ),
    ],
)
def test_the_jobset_goes_when_pods_or_the_job_would(policy: Json, ttl: int | None, told: list[str]) -> None:
    result = converted(policy)
    assert (result.jobset.get("ttlSecondsAfterFinished"), result.findings) == (ttl, told)


@pytest.mark.parametrize(
    ("older", "newer", "ttl"),
    [("All", None, 60), ("All", "Running", None), ("Running", "All", 60)],
    ids=["only the older field", "the newer one wins", "also where it deletes more"],
)
def test_of_the_two_fields_of_mpi_jobs_the_run_policys_wins(older: str, newer: str | None, ttl: int | None) -> None:
    result = converted({"cleanPodPolicy": newer} if newer else {}, kind="MPIJob", cleanPodPolicy=older)
    assert result.jobset.get("ttlSecondsAfterFinished") == ttl
