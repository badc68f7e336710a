"""Replicated jobs that start one after the other."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from shunter.api.jobset import JobSet, ReplicatedJob, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.cluster.controllers.jobset.startup_policy import has_started, in_order, started, starting

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(("policy", "ordered"), [(None, False), ("AnyOrder", False), ("InOrder", True)])
def test_replicated_jobs_start_in_order_only_by_policy(policy: str | None, *, ordered: bool) -> None:
    spec = {"startupPolicy": {"startupPolicyOrder": policy}} if policy else {}
    assert in_order(msgspec.convert({"spec": spec}, JobSet)) is ordered


@pytest.mark.parametrize(
    ("status", "is_started"),
    [
        (ReplicatedJobStatus("a", ready=1, succeeded=1, failed=1), True),
        (ReplicatedJobStatus("a", ready=2), False),
        (ReplicatedJobStatus("a", active=3), False),
        (ReplicatedJobStatus("b", ready=3), False),
    ],
    ids=["ready or ended", "one is missing", "running, not ready", "of another"],
)
def test_a_replicated_job_has_started_when_each_job_is_ready_or_has_ended(
    status: ReplicatedJobStatus, *, is_started: bool
) -> None:
    assert has_started(ReplicatedJob(name="a", replicas=3), (status,)) is is_started


def test_the_condition_of_the_end_takes_the_place_of_that_of_the_start() -> None:
    begun = starting(Progress.of(JobSet(), NOW))
    ended = started(begun)
    assert [(one.type, one.status) for one in begun.status.conditions] == [("StartupPolicyInProgress", "True")]
    assert [(one.type, one.status) for one in ended.status.conditions] == [
        ("StartupPolicyInProgress", "False"),
        ("StartupPolicyCompleted", "True"),
    ]
    again = starting(ended)
    assert [(one.type, one.status) for one in again.status.conditions] == [
        ("StartupPolicyInProgress", "True"),
        ("StartupPolicyCompleted", "False"),
    ]
    assert [note.reason for note in again.notes] == [
        "InOrderStartupPolicyInProgress",
        "InOrderStartupPolicyCompleted",
        "InOrderStartupPolicyInProgress",
    ]
