"""How far a plan is: the stage of each job and what comes next."""

from __future__ import annotations

import msgspec
import pytest

from migrate.moving.test_cleanup_candidates import FOUND, TITLE, train_job, v1
from shunter.api.meta import Json
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Action
from shunter.migrate.moving.plan_progress import Row, progress, train_job_stage
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import item_steps

STAGES: dict[str, tuple[list[Json], list[Json], str, str]] = {
    "nothing done": ([v1()], [], "to do", "apply"),
    "made": (
        [v1()],
        [train_job("Suspended")],
        "made",
        "to start it, set spec.suspend to false; or cleanup, where the v1 job never ran or has finished",
    ),
    "running": ([v1()], [train_job()], "running", "wait until it has finished"),
    "finished": ([v1()], [train_job("Complete")], "finished", "compare it with PyTorchJob team/bert: migrate compare --plan"),
    "different": (
        [v1()],
        [train_job("Complete", compared="different")],
        "finished",
        "the last comparison says different; when that is fixed, compare it with PyTorchJob team/bert: migrate compare --plan",
    ),
    "compared": ([v1()], [train_job("Complete", compared="equal")], "compared", "cleanup"),
    "cleaned up": ([], [train_job("Complete", compared="equal")], "compared", "nothing"),
    "gone": ([], [], "gone", "nothing"),
}


@pytest.mark.parametrize(("suspend", "stage"), [(True, "made"), (False, "running")])
def test_a_job_without_a_condition_is_at_the_stage_that_its_spec_says(suspend: bool, stage: str) -> None:
    """The operator writes the condition Suspended a moment after `apply` has made the job."""
    new = {**train_job(), "status": {}}
    assert train_job_stage({**new, "spec": {**new["spec"], "suspend": suspend}}) == stage


@pytest.mark.parametrize("case", STAGES.values(), ids=list(STAGES))
def test_the_stage_of_a_job_and_what_comes_next(case: tuple[list[Json], list[Json], str, str]) -> None:
    jobs, train_jobs, stage, following = case
    [row] = progress(FOUND, [], jobs, train_jobs).rows
    assert isinstance(row, Row)
    assert (row.stage, row.next) == (stage, following)
    assert row.is_done == (case in (STAGES["compared"], STAGES["cleaned up"], STAGES["gone"]))


def test_jobs_that_were_made_since_the_plan_are_named() -> None:
    new = {**v1("Running"), "metadata": {**v1()["metadata"], "name": "new"}}
    found = progress(FOUND, [], [v1(), new], [])
    assert found.unplanned == ("PyTorchJob team/new",)
    assert found.left == {"Running": 1, "Suspended": 1}


def done(number: int, step: str, verb: str) -> Record:
    """The record of a step that was taken with the TrainJob."""
    return Record(
        number=number, step=step, phase="done", at="", verb=verb, api_version="", kind="TrainJob", plural="", name="", job=TITLE
    )


def test_a_train_job_that_somebody_deleted_is_gone_and_not_to_do() -> None:
    made = done(1, "create", "create")
    [row] = progress(FOUND, [made], [v1()], []).rows
    assert (row.stage, row.next) == ("gone", "its TrainJob was deleted; to recreate it, roll back and apply")
    assert not row.is_done


NOT_MOVED: dict[str, tuple[Action, str, bool]] = {
    "left on v1": ("leave", "Running", True),
    "archived": ("archive", "Succeeded", True),
    "waited for": ("wait", "Running", False),
    "has finished": ("wait", "Failed", True),
    "made by another": ("source", "Running", False),
}


@pytest.mark.parametrize("case", NOT_MOVED.values(), ids=list(NOT_MOVED))
def test_a_job_that_stays_on_v1_is_done_when_nothing_is_left_to_do_for_it(case: tuple[Action, str, bool]) -> None:
    action, state, is_done = case
    item = msgspec.structs.replace(FOUND.items[0], action=action)
    plan = msgspec.structs.replace(FOUND, waves=(msgspec.structs.replace(FOUND.waves[0], jobs=(item,)),))
    [row] = progress(plan, [], [v1(state)], []).rows
    assert (row.stage, row.is_done) == ("not moved", is_done)


def test_of_a_train_job_that_was_started_and_deleted_nobody_is_told_to_make_it_again() -> None:
    made, started = done(1, "create", "create"), done(2, "start", "patch")
    rolled_back = [msgspec.structs.replace(record, phase="undone") for record in (started, made)]
    told = "its TrainJob was deleted since it was started: if it had not finished, resume the v1 job by hand"
    for records in ([made, started], [made, started, *rolled_back]):
        [row] = progress(FOUND, records, [v1()], []).rows
        assert (row.stage, row.next) == ("gone", told)


def test_of_a_v1_job_in_a_queue_nobody_is_told_to_resume_it_by_hand() -> None:
    started = done(1, "start", "patch")
    [row] = progress(FOUND, [started], [v1(labels={QUEUE_LABEL: "gpus"})], []).rows
    assert "take the v1 job out of queue gpus" in row.next
    assert "by hand" not in row.next


def test_a_step_that_was_begun_and_not_ended_is_named() -> None:
    [item] = FOUND.items
    outcome = converted([SourceObject(v1(), "cluster")], FOUND.options_of(item)).outcomes[0]
    assert outcome.conversion is not None
    step = next(iter(item_steps(FOUND, item, outcome.conversion)))
    record = msgspec.structs.replace(intended(step, None), number=1)
    found = progress(FOUND, [record], [v1()], [])
    assert (found.rows[0].stage, found.half_done) == ("half done", (step.id,))
