"""XGBoostJob: ranks, and what a failed pod does."""

from __future__ import annotations

import pytest

from framework_jobs import XGB, Played, environments


def test_ranks_of_an_xgboostjob_begin_at_its_master() -> None:
    told = environments(XGB, {"Worker": 2, "Master": 1})
    assert [pod["RANK"] for pod in told.values()] == ["0", "1", "2"]
    assert {pod["WORKER_ADDRS"] for pod in told.values()} == {"job-worker-0,job-worker-1"}


@pytest.mark.parametrize(
    ("policy", "conditions", "message"),
    [
        (
            "Never",
            ["Created=True", "Running=False", "Failed=True"],
            "XGBoostJob job is failed because 1 Worker replica(s) failed.",
        ),
        (
            "OnFailure",
            ["Created=True", "Running=False", "Failed=True"],
            "XGBoostJob job is failed because 1 Worker replica(s) failed.",
        ),
        ("ExitCode", ["Created=True", "Running=True"], "XGBoostJob job is running."),
    ],
)
def test_a_failed_pod_fails_an_xgboostjob_unless_exit_codes_decide(policy: str, conditions: list[str], message: str) -> None:
    played = Played(XGB, {"Master": 1, "Worker": 1}, policy=policy)
    played.pods("Running", "master-0", "worker-0")
    assert played.pods("Failed", "worker-0", code=137) == conditions
    assert played.message == message
