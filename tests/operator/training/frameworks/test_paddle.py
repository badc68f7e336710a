"""PaddleJob: where its trainers meet."""

from __future__ import annotations

from framework_jobs import PADDLE, environments


def test_trainers_of_a_paddlejob_meet_at_its_first_server() -> None:
    """Only the first server is told its own address."""
    told = environments(PADDLE, {"Master": 2, "Worker": 1})
    assert [pod["PADDLE_MASTER"] for pod in told.values()] == [
        "$(POD_IP_DUMMY):36543",
        "job-master-0:36543",
        "job-master-0:36543",
    ]
