"""What a failed Job leads to: a restart of the JobSet, one that does not count, or its failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.batch import Job
from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.failure_policy import applied
from shunter.cluster.controllers.jobset.progress import Progress

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def failed(
    name: str = "x-node-0", *, role: str = "node", reason: str = "BackoffLimitExceeded", message: str = "", ago: int = 0
) -> Job:
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": role}
    since = (NOW - timedelta(seconds=ago)).isoformat()
    condition = {"type": "Failed", "status": "True", "reason": reason, "message": message, "lastTransitionTime": since}
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "status": {"conditions": [condition]}}, Job)


def after(policy: Json | None, *jobs: Job, counted: int = 0) -> Progress:
    spec: Json = {"replicatedJobs": [], **({"failurePolicy": policy} if policy is not None else {})}
    status = {"restarts": counted, "restartsCountTowardsMax": counted}
    jobset = msgspec.convert({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec, "status": status}, JobSet)
    return applied(jobset, jobs or (failed(),), Progress.of(jobset, NOW))


def outcome(progress: Progress) -> tuple[str, int, int]:
    """The terminal state, all restarts, and those that count."""
    status = progress.status
    return (status.terminal_state, status.restarts, status.restarts_count_towards_max)


def rule(action: str, **more: Any) -> Json:
    return {"maxRestarts": 1, "rules": [{"name": "r", "action": action, **more}]}


def test_without_a_policy_the_first_failed_job_fails_the_jobset() -> None:
    progress = after(None)
    assert outcome(progress) == ("Failed", 0, 0)
    (condition,) = progress.status.conditions
    assert (condition.reason, condition.message) == (
        "FailedJobs",
        "jobset failed due to one or more job failures (first failed job: x-node-0)",
    )


@pytest.mark.parametrize(("counted", "expected"), [(0, ("", 1, 1)), (1, ("", 2, 2)), (2, ("Failed", 2, 2))])
def test_the_jobset_is_restarted_max_restarts_times(counted: int, expected: tuple[str, int, int]) -> None:
    assert outcome(after({"maxRestarts": 2}, counted=counted)) == expected


ACTIONS = {
    "FailJobSet": ("Failed", 0, 0),
    "RestartJobSet": ("", 1, 1),
    "RestartJobSetAndIgnoreMaxRestarts": ("", 1, 0),
}


@pytest.mark.parametrize(("action", "expected"), ACTIONS.items(), ids=ACTIONS)
def test_a_rule_that_matches_decides(action: str, expected: tuple[str, int, int]) -> None:
    assert outcome(after(rule(action))) == expected


def test_a_restart_that_does_not_count_is_made_beyond_max_restarts_too() -> None:
    assert outcome(after(rule("RestartJobSetAndIgnoreMaxRestarts"), counted=1)) == ("", 2, 1)


MATCHES: dict[str, tuple[Json, Job, bool]] = {
    "a reason": ({"onJobFailureReasons": ["PodFailurePolicy"]}, failed(reason="PodFailurePolicy"), True),
    "another reason": ({"onJobFailureReasons": ["PodFailurePolicy"]}, failed(), False),
    "a message": ({"onJobFailureMessagePatterns": ["exit code [34]"]}, failed(message="failed with exit code 3"), True),
    "another message": ({"onJobFailureMessagePatterns": ["exit code [34]"]}, failed(message="failed with exit code 5"), False),
    "no regular expression": ({"onJobFailureMessagePatterns": ["("]}, failed(message="("), False),
    "a replicated job": ({"targetReplicatedJobs": ["node"]}, failed(), True),
    "another replicated job": ({"targetReplicatedJobs": ["node"]}, failed(role="initializer"), False),
    "a reason, but of another replicated job": (
        {"onJobFailureReasons": ["BackoffLimitExceeded"], "targetReplicatedJobs": ["node"]},
        failed(role="initializer"),
        False,
    ),
}


@pytest.mark.parametrize(("conditions", "job", "matches"), MATCHES.values(), ids=MATCHES)
def test_a_rule_matches_when_all_that_it_says_holds(conditions: Json, job: Job, matches: bool) -> None:
    assert after(rule("FailJobSet", **conditions), job).status.terminal_state == ("Failed" if matches else "")


def test_of_several_rules_the_first_that_matches_any_failed_job_decides() -> None:
    rules = [
        {"name": "ignored", "action": "RestartJobSetAndIgnoreMaxRestarts", "targetReplicatedJobs": ["initializer"]},
        {"name": "fatal", "action": "FailJobSet", "targetReplicatedJobs": ["node"]},
    ]
    jobs = failed(), failed("x-initializer-0", role="initializer")
    assert outcome(after({"rules": rules}, *jobs)) == ("", 1, 0)
    assert outcome(after({"rules": rules[::-1]}, *jobs)) == ("Failed", 0, 0)


def test_the_job_that_failed_first_is_named() -> None:
    progress = after(None, failed("x-node-0", ago=1), failed("x-node-1", ago=5))
    assert progress.status.conditions[0].message.endswith("(first failed job: x-node-1)")
