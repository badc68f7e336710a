"""Conditions of a TrainJob: kept as apimachinery keeps them, and what of them follows from its JobSet."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from shunter.api.meta import Condition, Json
from shunter.api.rank_failures import RankFailures
from shunter.api.trainer.trainjob import TrainJobStatus
from shunter.operator.trainer.status import (
    is_finished,
    status_json,
    with_condition,
    with_outcome,
    with_suspension,
    without_retryable_failure,
)
from trainer_plans import jobset

EARLIER, NOW = datetime(2026, 11, 21, 11, tzinfo=UTC), datetime(2026, 11, 21, 12, tzinfo=UTC)


def condition(
    type: str, status: str = "True", *, reason: str = "", message: str = "", at: datetime | None = EARLIER
) -> Condition:
    return Condition(type=type, status=status, reason=reason, message=message, last_transition_time=at)


@pytest.mark.parametrize(
    ("conditions", "is_over"),
    [
        ((), False),
        ((condition("Complete"),), True),
        ((condition("Complete", "False"),), False),
        ((condition("Failed", reason="FailedJobs"),), False),
        ((condition("Failed", reason="DeadlineExceeded"),), True),
    ],
    ids=["new", "complete", "not complete", "failed, and made anew without its JobSet", "missed its deadline"],
)
def test_which_ends_are_for_good(conditions: tuple[Condition, ...], is_over: bool) -> None:
    assert is_finished(TrainJobStatus(conditions=conditions)) is is_over


def test_a_condition_keeps_its_place_and_while_its_status_stays_its_time() -> None:
    before = (condition("Suspended", message="a"), condition("Created", "False"))
    reworded, other = with_condition(before, condition("Suspended", message="b", at=None), NOW)
    assert (reworded.message, reworded.last_transition_time, other.type) == ("b", EARLIER, "Created")
    turned, _ = with_condition(before, condition("Suspended", "False", at=None), NOW)
    assert turned.last_transition_time == NOW


def test_resumed_is_said_only_after_a_suspension_and_once_nothing_is_waited_for() -> None:
    assert with_suspension((), False, NOW) == ()
    suspended = with_suspension((), True, NOW)
    (waiting,) = with_suspension(suspended, False, NOW, waiting="pods of before end")
    assert (waiting.status, waiting.reason, waiting.message) == ("True", "Suspended", "pods of before end")
    (resumed,) = with_suspension((waiting,), False, NOW)
    assert (resumed.status, resumed.reason) == ("False", "Resumed")


def test_a_failure_is_dropped_unless_the_deadline_was_missed() -> None:
    missed = condition("Failed", reason="DeadlineExceeded")
    assert without_retryable_failure((condition("Failed", reason="FailedJobs"), condition("Suspended"))) == (
        condition("Suspended"),
    )
    assert without_retryable_failure((missed,)) == (missed,)


@pytest.mark.parametrize(("theirs", "own"), [("Completed", "Complete"), ("Failed", "Failed")])
def test_the_end_of_the_jobset_is_taken_over_with_its_words_and_time(theirs: str, own: str) -> None:
    end: Json = {"type": theirs, "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    (taken,) = with_outcome((), jobset(conditions=[end]), NOW)
    assert taken == condition(own, reason="r", message="m")
    assert with_outcome((), jobset(conditions=[{**end, "status": "False"}]), NOW) == ()


def test_the_status_is_written_without_what_others_write() -> None:
    read = msgspec.convert({"trainerStatus": {"progressPercentage": 5}, "jobsStatus": [{"name": "node"}]}, TrainJobStatus)
    counters = {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    assert status_json(read) == {"jobsStatus": [counters]}
    assert "rankFailures" in status_json(TrainJobStatus(rank_failures=RankFailures()))
