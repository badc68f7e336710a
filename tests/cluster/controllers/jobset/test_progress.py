"""The status that a reconcile works towards: conditions, their times and events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shunter.api.jobset import JobSet, JobSetStatus, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.progress import Progress, status_json

NOW = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)
WHOLE = NOW.replace(microsecond=0)


def test_a_condition_gets_a_new_time_only_with_a_new_status_and_an_event_with_any_change() -> None:
    first = Progress.of(JobSet(), NOW).condition("Suspended", True, "S", "one")
    stored = JobSet(status=first.status)
    later = Progress.of(stored, NOW + timedelta(seconds=9))
    same = later.condition("Suspended", True, "S", "one")
    reworded = later.condition("Suspended", True, "S", "two")
    turned = later.condition("Suspended", False, "R", "three", warn=True)
    assert [one.last_transition_time for one in first.status.conditions] == [WHOLE], "as times are stored"
    assert same == later
    assert [one.last_transition_time for one in reworded.status.conditions] == [WHOLE]
    assert [one.last_transition_time for one in turned.status.conditions] == [WHOLE + timedelta(seconds=9)]
    assert [(note.type, note.reason, note.message) for of in (reworded, turned) for note in of.notes] == [
        ("Normal", "S", "two"),
        ("Warning", "R", "three"),
    ]


def test_a_condition_that_was_never_there_is_not_added_as_false() -> None:
    progress = Progress.of(JobSet(), NOW)
    assert progress.condition("RestartingJobSet", False, "R", "m") == progress


def test_a_stored_status_has_its_counters_even_when_zero() -> None:
    assert status_json(JobSetStatus()) == {}
    assert status_json(JobSetStatus(replicated_jobs_status=(ReplicatedJobStatus("a", ready=1),))) == {
        "restarts": 0,
        "replicatedJobsStatus": [{"name": "a", "ready": 1, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}],
    }
