"""The rows of the list, from plain objects and from what was read about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from page.jobs import pytorch_job
from shunter.jobs.evidence import JobCause
from shunter.jobs.listing import Row
from shunter.operator.causes import Cause
from shunter.operator.overview import V1_STATES, V2_STATES, overview
from shunter.operator.training_progress import Progress, progress
from shunter.page.views.jobs import LOG_SECONDS, STATES, JobReading, Jobs, LogTime, job_row, kept_job, kept_native
from shunter.page.views.view import Observed

TIME = "2026-11-26T06:00:00Z"


def job(uid: str = "u", state: str = "Running", *, active: int = 3, version: str = "1") -> dict[str, Any]:
    found = pytorch_job(f"job-{uid}", "team-a")
    found["metadata"] |= {"uid": uid, "resourceVersion": version, "creationTimestamp": TIME}
    condition = {"type": state, "status": "True", "reason": f"PyTorchJob{state}", "message": "", "lastTransitionTime": TIME}
    found["status"] = {"conditions": [condition], "replicaStatuses": {"Master": {"active": 1}, "Worker": {"active": active - 1}}}
    return found


def test_every_state_has_its_word() -> None:
    assert {*V1_STATES, *(state for _, state in V2_STATES), "Created", "Running"} == {*STATES}


@pytest.mark.parametrize("state", V1_STATES)
def test_a_job_by_itself(state: str) -> None:
    row = job_row(kept_job(job(state=state)), None, None)
    assert (row.id, row.namespace, row.name, row.kind, row.wanted) == ("u", "team-a", "job-u", "PyTorchJob", 3)
    assert row.state == STATES[state]
    assert row.up == (0 if state in ("Succeeded", "Failed") else 3 if state == "Running" else None), "unknown until it is read"
    assert row.why == ""


def test_what_was_read_is_shown_until_it_is_read_again() -> None:
    cause = Cause("Unschedulable", "no node has 8 GPUs free", "wait, or ask for fewer")
    read = JobReading("1", "Running", JobCause(cause, up=1), 3)
    row = job_row(kept_job(job(active=2, version="2")), read, None)
    assert (row.up, row.wanted, row.why, row.remedy) == (1, 3, cause.sentence, "wait, or ask for fewer")


def test_the_cause_of_a_state_that_has_passed_is_not_shown() -> None:
    """A job that waited for GPUs and runs now, or ran and has failed, until its pods are read again."""
    waited = JobReading("1", "Created", JobCause(Cause("Unschedulable", "no node has 8 GPUs free", "wait"), up=0), 3)
    row = job_row(kept_job(job(state="Running", active=2, version="2")), waited, None)
    assert (row.state, row.why, row.remedy) == ("Running", "", "")
    assert job_row(kept_job(job(state="Created", active=2, version="2")), waited, None).why == "no node has 8 GPUs free"


def test_a_job_of_which_no_row_can_be_made_fails_alone() -> None:
    """`keep` is called for one job, and names it; `rows` is of all of them."""
    odd = job() | {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {}}
    odd["status"] = {"trainerStatus": {"metrics": 1}}
    with pytest.raises(TypeError):
        kept_job(odd)


def test_what_turns_text_around_is_seen_in_a_row() -> None:
    turned = job()
    turned["status"]["conditions"][0]["reason"] = "Run\u202ening"
    read = JobReading("1", "Running", JobCause(Cause("X", "killed\u202e\x1b[31m by\u200b it", "wait\u2066")), 3)
    row = job_row(kept_job(turned), read, None)
    assert (row.reason, row.why, row.remedy) == ("Run<U+202E>ning", "killed<U+202E> by<U+200B> it", "wait<U+2066>")


def test_a_job_that_has_succeeded_has_no_cause() -> None:
    read = JobReading("1", "Succeeded", JobCause(Cause("Unschedulable", "no node has 8 GPUs free")), 3)
    assert job_row(kept_job(job(state="Succeeded")), read, None).why == ""


def test_pods_that_could_not_be_read_are_not_none_that_run() -> None:
    read = JobReading("1", "Running", JobCause(None, ("pods",), up=None), 3)
    assert job_row(kept_job(job(active=2)), read, None).up is None


def test_pods_that_were_read_say_more_than_the_status_of_the_job() -> None:
    read = JobReading("1", "Running", JobCause(None, up=2), 3)
    assert job_row(kept_job(job(active=3)), read, None).up == Row(overview(job()), read.why, None, wanted=3).up == 2
    read = JobReading("1", "Running", JobCause(None, is_all_up=True), 3)
    assert job_row(kept_job(job(active=3)), read, None).up == Row(overview(job()), read.why, None, wanted=3).up == 3


def test_logs_of_more_jobs_than_are_read_at_once_are_read_in_turn() -> None:
    view, jobs = Jobs(""), {str(number): kept_job(job(str(number))) for number in range(100)}
    view._progress_in_logs = {uid: Progress(step=1, source="log") for uid in jobs}
    view._log_times = {uid: LogTime(state="Running") for uid in jobs}
    read = set[str]()
    for now in range(5):
        due = view._due(jobs, 5.0 * now)
        assert len(due) == 20
        view._log_times |= {uid: LogTime(5.0 * now + LOG_SECONDS, state="Running") for uid in due}
        read |= {*due}
    assert read == {*jobs}


def test_logs_of_jobs_that_failed_are_read_after_those_of_running_ones_and_not_again() -> None:
    view = Jobs("")
    jobs = {"old": kept_job(job("old", "Failed")), "runs": kept_job(job("runs")), "done": kept_job(job("done", "Succeeded"))}
    silent = view._silent(Observed({"pytorchjobs": jobs}, {}))
    assert silent.keys() == {"old", "runs"}, "one that has succeeded has done all of it"
    assert view._due(silent, 0.0) == ["runs", "old"]
    view._note_read(silent, [*silent], {uid: Progress(step=step, source="log") for uid, step in (("runs", 1), ("old", 820))}, 0.0)
    assert view._due(silent, 1e6) == ["runs"], "it says the same for ever"
    row = job_row(jobs["old"], None, view._progress_in_logs["old"])
    assert (row.state, row.progress and row.progress.position) == ("Failed", "step 820")


def test_where_no_log_tells_anything_they_are_read_one_by_one_until_one_does() -> None:
    view, jobs = Jobs(""), {str(number): kept_job(job(str(number))) for number in range(100)}
    first = view._due(jobs, 0.0)
    assert len(first) == 20
    view._note_read(jobs, first, {}, 0.0)
    (one,) = view._due(jobs, 5.0)
    view._note_read(jobs, [one], {one: Progress(step=1, source="log")}, 5.0)
    assert len(view._due(jobs, 10.0)) == 4


def test_how_far_a_job_came_stays_when_its_log_is_gone() -> None:
    view, jobs = Jobs(""), {"a": kept_job(job("a"))}
    view._note_read(jobs, ["a"], {"a": Progress(step=820, source="log")}, 0.0)
    jobs["a"] = kept_job(job("a", "Failed"))
    assert view._due(jobs, 1.0) == ["a"], "it may have done more since it was read"
    for now in (1.0, 60.0, 180.0, 400.0):
        view._note_read(jobs, view._due(jobs, now), {}, now)
    assert view._progress_in_logs["a"].step == 820
    assert view._due(jobs, 1e6) == []


def test_a_loss_that_is_no_number_stands_in_no_row() -> None:
    found = job()
    found["status"]["trainerStatus"] = {
        "progressPercentage": 41,
        "metrics": [{"name": "loss", "value": "NaN"}, {"name": "step", "value": "10"}, {"name": "steps", "value": "20"}],
    }
    shown = job_row(kept_job(found), None, None).progress
    assert shown is not None
    assert (shown.percentage, shown.loss, shown.position) == (41, None, "step 10/20")


@pytest.mark.parametrize("share", [0, 1, 29, 57, 58, 99, 100])
def test_a_percentage_is_the_number_that_describe_prints(share: int) -> None:
    """Also one of steps: 29 / 100 * 100 is 28.999999999999996 for a computer."""
    metrics = [{"name": "step", "value": str(share)}, {"name": "steps", "value": "100"}]
    for status in ({"progressPercentage": share}, {"metrics": metrics}):
        found = job()
        found["status"]["trainerStatus"] = status
        shown = job_row(kept_job(found), None, None).progress
        assert shown is not None
        assert shown.percentage == share


def test_the_time_left_counts_from_when_it_was_reported() -> None:
    found = job()
    found["status"]["trainerStatus"] = {"estimatedRemainingSeconds": 300, "lastUpdatedTime": TIME}
    reported = datetime.fromisoformat(TIME)
    shown = job_row(kept_job(found), None, None).progress
    assert shown is not None
    assert (shown.reported, shown.ends) == (reported.timestamp(), reported.timestamp() + 300)
    logged = progress(found)
    assert logged is not None
    for passed in (60, 119, 121, 299, 400):
        now = reported + timedelta(seconds=passed)
        assert logged.remaining(now) == timedelta(seconds=max(0, shown.ends - now.timestamp()))
        assert logged.is_stale(now) == (now.timestamp() > shown.stale_after)


def test_jobs_of_kubernetes_that_number_no_pods_are_not_shown() -> None:
    plain = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "uid": "u"}, "spec": {"template": {}}}
    assert kept_native(plain) is None


CHANGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["Running", "Failed", "Suspended", "gone"]), st.integers(1, 3)), max_size=12
)


@given(CHANGES)
def test_rows_depend_on_what_is_there_and_not_on_how_it_came(changes: list[tuple[str, str, int]]) -> None:
    view, objects = Jobs(""), dict[str, Any]()
    for uid, state, active in changes:
        if state == "gone":
            objects.pop(uid, None)
        else:
            objects[uid] = kept_job(job(uid, state, active=active))
        view.rows(Observed({"pytorchjobs": objects}, {}), 0.0)
    seen, fresh = (one.rows(Observed({"pytorchjobs": objects}, {}), 0.0)["jobs"] for one in (view, Jobs("")))
    assert {row.id: row for row in seen} == {row.id: row for row in fresh}
    assert len(seen) == len(objects)


def test_rows_of_jobs_that_did_not_change_are_the_same_objects() -> None:
    view, objects = Jobs(""), {uid: kept_job(job(uid)) for uid in "abc"}
    before = {row.id: row for row in view.rows(Observed({"pytorchjobs": objects}, {}), 0.0)["jobs"]}
    objects["a"] = kept_job(job("a", "Failed"))
    after = {row.id: row for row in view.rows(Observed({"pytorchjobs": objects}, {}), 0.0)["jobs"]}
    assert after["a"] != before["a"]
    assert after["b"] is before["b"]


def test_why_is_read_soon_after_a_change_and_every_5_seconds_and_a_log_every_15() -> None:
    found = {reading.name: (reading.seconds, reading.settle) for reading in Jobs("").readings}
    assert found["why"] == (5.0, 0.3)
    assert LOG_SECONDS == 15.0
