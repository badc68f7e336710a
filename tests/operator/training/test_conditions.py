"""The condition list: its order is contract."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shunter.operator.training.conditions import Conditions, with_condition

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T1 = T0 + timedelta(minutes=1)


def grown(*types: str) -> Conditions:
    conditions: Conditions = ()
    for type in types:
        conditions = with_condition(conditions, type, f"Job{type}", f"it is {type}", T0)
    return conditions


def shown(conditions: Conditions) -> list[str]:
    return [f"{condition.type}={condition.status}" for condition in conditions]


def test_a_new_condition_stands_at_the_end() -> None:
    assert shown(grown("Created", "Running")) == ["Created=True", "Running=True"]


def test_running_and_restarting_take_each_others_place() -> None:
    """S3d"""
    assert shown(grown("Created", "Running", "Restarting")) == ["Created=True", "Restarting=True"]
    assert shown(grown("Created", "Restarting", "Running")) == ["Created=True", "Running=True"]


def test_success_and_failure_stop_running_where_it_stands() -> None:
    """S3e"""
    assert shown(grown("Created", "Running", "Succeeded")) == ["Created=True", "Running=False", "Succeeded=True"]
    assert shown(grown("Running", "Failed")) == ["Running=False", "Failed=True"]


def test_nothing_changes_a_failed_job() -> None:
    """S3a"""
    failed = grown("Created", "Failed")
    assert with_condition(failed, "Running", "JobRunning", "again", T1) is failed


def test_success_may_be_followed_by_failure() -> None:
    """Only Failed is sticky."""
    assert shown(grown("Succeeded", "Failed")) == ["Succeeded=True", "Failed=True"]


def test_the_message_stays_while_status_and_reason_do() -> None:
    """S3b"""
    conditions = grown("Running")
    assert with_condition(conditions, "Running", "JobRunning", "another text", T1) is conditions


def test_transition_time_changes_only_with_the_status() -> None:
    """S3c"""
    (moved,) = with_condition(grown("Running"), "Running", "JobElse", "text", T1)
    assert (moved.last_transition_time, moved.last_update_time) == (T0, T1)
    (stopped,) = with_condition(grown("Running"), "Running", "JobSuspended", "text", T1, status="False")
    assert stopped.last_transition_time == T1
