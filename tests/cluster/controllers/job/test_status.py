"""The status of a Job after a plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from cluster.controllers.job.tallied import NOW, ago, job, pod
from shunter.api.batch import JobCondition
from shunter.cluster.controllers.job.status import finished, judged, started, suspended_or_resumed, with_condition
from shunter.cluster.controllers.job.verdict import Verdict

SUCCEEDED = Verdict(success=True, reason="CompletionsReached", message="Reached expected number of succeeded pods")
FAILED = Verdict(success=False, reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")


def condition(type: str, status: str = "True") -> dict[str, Any]:
    return {"type": type, "status": status, "reason": "R", "message": "m", "lastTransitionTime": ago(99)}


SUSPENDED = condition("Suspended") | {"reason": "JobSuspended", "message": "Job suspended"}
RESUMED = condition("Suspended", "False") | {"reason": "JobResumed", "message": "Job resumed"}


def kinds(conditions: tuple[JobCondition, ...]) -> list[tuple[str, str]]:
    return [(one.type, one.status) for one in conditions]


@pytest.mark.parametrize(
    ("before", "change", "after", "is_changed"),
    [
        pytest.param([], ("A", "True"), [("A", "True")], True, id="a new one comes last"),
        pytest.param([], ("A", "False"), [], False, id="a new one that is false is left out"),
        pytest.param(["A", "B"], ("A", "False"), [("A", "False"), ("B", "True")], True, id="a changed one keeps its place"),
        pytest.param(["A"], ("A", "True"), [("A", "True")], False, id="the same again"),
    ],
)
def test_a_condition_is_set_in_its_place(
    before: list[str], change: tuple[str, str], after: list[tuple[str, str]], is_changed: bool
) -> None:
    stored = msgspec.convert([condition(type) for type in before], tuple[JobCondition, ...])
    conditions, changed = with_condition(stored, *change, "R", "m", NOW)
    assert (kinds(conditions), changed) == (after, is_changed)


def test_suspending_forgets_the_start_and_resuming_sets_it_again() -> None:
    running = job({"startTime": ago(50)}, suspend=True)
    status, notes = suspended_or_resumed(running.status, running, NOW)
    assert (status.start_time, kinds(status.conditions)) == (None, [("Suspended", "True")])
    assert [note.reason for note in notes] == ["Suspended"]
    resumed = job({"conditions": [condition("Suspended")]}, suspend=False)
    status, notes = suspended_or_resumed(resumed.status, resumed, NOW)
    assert (status.start_time, kinds(status.conditions)) == (NOW, [("Suspended", "False")])
    assert [note.reason for note in notes] == ["Resumed"]


@pytest.mark.parametrize(
    ("status", "suspend"),
    [
        pytest.param({"startTime": ago(50)}, False, id="a running Job"),
        pytest.param({"conditions": [SUSPENDED]}, True, id="a suspended one"),
        pytest.param({"startTime": ago(50), "conditions": [RESUMED]}, False, id="a resumed one"),
    ],
)
def test_a_job_that_stays_as_it_is_keeps_its_status(status: dict[str, Any], suspend: bool) -> None:
    of = job(status, suspend=suspend)
    assert suspended_or_resumed(of.status, of, NOW) == (of.status, ())


def test_a_job_starts_once() -> None:
    of = job()
    status = started(of.status, of, [], NOW)
    assert status.start_time == NOW
    assert started(status, of, [], NOW + timedelta(seconds=5)).start_time == NOW


@pytest.mark.parametrize(
    ("verdict", "interim", "terminal"),
    [
        pytest.param(SUCCEEDED, "SuccessCriteriaMet", "Complete", id="a success"),
        pytest.param(FAILED, "FailureTarget", "Failed", id="a failure"),
    ],
)
def test_a_verdict_is_announced_before_the_job_ends(verdict: Verdict, interim: str, terminal: str) -> None:
    of = job({"startTime": ago(50)})
    status = judged(of.status, verdict, NOW)
    assert kinds(status.conditions) == [(interim, "True")]
    assert status.completion_time is None
    status, notes = finished(status, of, [pod("a", "Succeeded")], verdict, NOW)
    assert kinds(status.conditions) == [(interim, "True"), (terminal, "True")]
    assert {(one.reason, one.message) for one in status.conditions} == {(verdict.reason, verdict.message)}
    assert (status.completion_time is not None) == verdict.success, "only a complete Job has a completion time"
    assert [note.reason for note in notes] == ["Completed" if verdict.success else verdict.reason]
