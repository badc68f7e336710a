"""What taking each write back means, for everything that may have happened since."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest

from migrate.moving.test_step_decisions import (
    CREATE,
    DELETE,
    RUNTIME,
    SHARED,
    START,
    SUSPEND,
    TRAIN_JOB,
    V1,
    V1_STOPPED,
    finished,
    without_mark,
)
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_POLICIES
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import freeze
from shunter.migrate.moving.journal import Phase, Record
from shunter.migrate.moving.rollback_decisions import (
    RolledBackTrainJob,
    Undo,
    UndoContext,
    Verdict,
    after_failure,
    to_undo,
    undo_of,
    was_started,
)
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import Step
from shunter.operator.overview import is_suspended


def record(step: Step, present: Json | None, after: Json | None, phase: Phase = "done", **changes: Any) -> Record:
    found = intended(step, present)
    if phase == "done":
        uid = (after or present or {})["metadata"]["uid"]
        found = msgspec.structs.replace(found, after=digest(after) if after else "", uid=uid)
    return msgspec.structs.replace(found, phase=phase, **changes)


class Case(NamedTuple):
    record: Record
    present: Json | None
    verdict: str
    context: UndoContext = UndoContext("p1")


MADE = record(CREATE, None, TRAIN_JOB)
RUNTIME_MADE = record(SHARED, None, RUNTIME)
STOPPED = record(SUSPEND, V1, V1_STOPPED)
WAS_STOPPED_ALREADY = record(SUSPEND, V1_STOPPED, V1_STOPPED)
DELETED = record(DELETE, V1, None)
FAILED_TRAIN_JOB = {**TRAIN_JOB, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}
FINISHED_V1 = {**V1_STOPPED, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
RUNNING_TRAIN_JOB = merge_patch(TRAIN_JOB, {"spec": {"suspend": False}})
STARTED_TRAIN_JOB = record(START, TRAIN_JOB, RUNNING_TRAIN_JOB)
MADE_AGAIN = merge_patch(V1_STOPPED, {"metadata": {"uid": "9"}})
UNANSWERED = record(CREATE, None, None, "intended")
CHANGED = merge_patch(TRAIN_JOB, {"metadata": {"labels": {"a": "b"}}})
OTHER_UID = merge_patch(TRAIN_JOB, {"metadata": {"uid": "9"}})
DEFINITION: Json = {"metadata": {"name": "tfjobs.kubeflow.org", "uid": "7"}, "spec": {}}
DEFINITION_DELETED = record(
    Step("delete", "delete", CUSTOM_RESOURCE_DEFINITIONS, "", "tfjobs.kubeflow.org"), DEFINITION, None, uid="7"
)
POLICY = merge_patch(freeze.policy("p1"), {"metadata": {"uid": "8"}})
UNFROZEN = record(Step("unfreeze", "delete", VALIDATING_POLICIES, "", freeze.name("p1")), POLICY, None)

CASES = {
    "what was made goes": Case(MADE, TRAIN_JOB, "delete"),
    "what was made is gone": Case(MADE, None, "nothing"),
    "another has the name of what was made": Case(MADE, OTHER_UID, "refuse"),
    "what was made was changed": Case(MADE, CHANGED, "refuse"),
    "what was made was taken over": Case(MADE, without_mark(TRAIN_JOB), "refuse"),
    "a TrainJob that has finished stays": Case(MADE, finished(TRAIN_JOB), "keep"),
    "a TrainJob that has failed stays": Case(MADE, FAILED_TRAIN_JOB, "keep"),
    "an unanswered write that was done goes": Case(UNANSWERED, merge_patch(TRAIN_JOB, {"metadata": {"generation": 1}}), "delete"),
    "an unanswered write that was done, and changed since": Case(
        UNANSWERED, merge_patch(TRAIN_JOB, {"metadata": {"generation": 2}}), "refuse"),
    "an unanswered write that was not done": Case(UNANSWERED, None, "nothing"),
    "a runtime goes": Case(RUNTIME_MADE, RUNTIME, "delete"),
    "a runtime that others use stays": Case(RUNTIME_MADE, RUNTIME, "keep", UndoContext("p1", users={"TrainJob other": False})),
    "a runtime that only TrainJobs that have succeeded use stays": Case(
        RUNTIME_MADE, RUNTIME, "keep", UndoContext("p1", users={"TrainJob other": True})
    ),
    "the v1 job runs again": Case(STOPPED, V1_STOPPED, "patch"),
    "the v1 job runs already": Case(STOPPED, V1, "nothing"),
    "the v1 job does not exist": Case(STOPPED, None, "nothing"),
    "the v1 job has finished": Case(STOPPED, FINISHED_V1, "keep"),
    "the TrainJob has finished: the v1 job does not train again": Case(
        STOPPED, V1_STOPPED, "keep", UndoContext("p1", train_job=RolledBackTrainJob(is_finished=True))),
    "the TrainJob has failed: nobody but its user knows whether v1 is to train": Case(
        STOPPED, V1_STOPPED, "keep", UndoContext("p1", train_job=RolledBackTrainJob(is_finished=True, has_failed=True))),
    "the TrainJob runs: the v1 job does not train beside it": Case(
        STOPPED, V1_STOPPED, "keep", UndoContext("p1", train_job=RolledBackTrainJob(is_running=True))),
    "the TrainJob was started and is gone: the v1 job does not train again": Case(
        STOPPED, V1_STOPPED, "keep", UndoContext("p1", train_job=RolledBackTrainJob(is_lost=True))),
    "the v1 job was changed": Case(STOPPED, merge_patch(V1_STOPPED, {"metadata": {"labels": {"a": "b"}}}), "refuse"),
    "a job that was suspended before stays so": Case(WAS_STOPPED_ALREADY, V1_STOPPED, "nothing"),
    "a deleted job comes back": Case(DELETED, None, "create"),
    "a deleted job that had finished does not": Case(msgspec.structs.replace(DELETED, state="Succeeded"), None, "keep"),
    "a deleted job whose name is taken does not": Case(DELETED, V1, "nothing"),
    "a deleted job whose copy is elsewhere does not": Case(msgspec.structs.replace(DELETED, undo={}), None, "keep"),
    "a definition comes back from its copy": Case(
        msgspec.structs.replace(DEFINITION_DELETED, undo=DEFINITION), None, "create"),
    "a definition whose copy is gone does not": Case(DEFINITION_DELETED, None, "refuse"),
    "a TrainJob stays when its v1 job is gone": Case(MADE, TRAIN_JOB, "keep", UndoContext("p1", origin="gone")),
    "a TrainJob stays when its v1 job is another": Case(MADE, TRAIN_JOB, "keep", UndoContext("p1", origin="another")),
    "a TrainJob trains on when its v1 job is gone": Case(
        STARTED_TRAIN_JOB, RUNNING_TRAIN_JOB, "keep", UndoContext("p1", origin="gone")),
    "a TrainJob stops when its v1 job is there": Case(STARTED_TRAIN_JOB, RUNNING_TRAIN_JOB, "patch"),
    "a job that a rollback made again is ours": Case(STOPPED, MADE_AGAIN, "patch", UndoContext("p1", uids=["9"])),
    "a job that somebody made again is not": Case(STOPPED, MADE_AGAIN, "refuse", UndoContext("p1", uids=["1"])),
    "a definition that is on its way out is not there": Case(
        DEFINITION_DELETED, merge_patch(DEFINITION, {"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}}), "refuse"),
    "a freeze that was taken away does not come back": Case(UNFROZEN, None, "nothing"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_is_taken_back(case: Case) -> None:
    known = {case.record.after} - {""}
    found = undo_of(case.record, case.present, case.context._replace(known=known))
    assert found.verdict == case.verdict
    assert found.why


STARTED: dict[str, tuple[list[tuple[Step, Phase]], bool]] = {
    "made only": ([(CREATE, "intended"), (CREATE, "done")], False),
    "started": ([(CREATE, "done"), (START, "intended"), (START, "done")], True),
    "a start that was not answered": ([(CREATE, "done"), (START, "intended")], True),
    "started, and stopped by a rollback, which found it gone then": (
        [(CREATE, "done"), (START, "done"), (START, "undoing"), (START, "undone"), (CREATE, "undone")], True),
    "started, and taken away by a rollback": (
        [(CREATE, "done"), (START, "done"), (START, "undone"), (CREATE, "undoing"), (CREATE, "undone")], False),
    "started, taken away and made again": (
        [(CREATE, "done"), (START, "done"), (CREATE, "undoing"), (CREATE, "undone"), (CREATE, "intended")], False),
    "started, gone and made again": (
        [(CREATE, "done"), (START, "done"), (START, "undone"), (CREATE, "undone"), (CREATE, "done")], False),
}  # fmt: skip


@pytest.mark.parametrize("case", STARTED.values(), ids=list(STARTED))
def test_whether_a_train_job_that_is_gone_may_have_trained(case: tuple[list[tuple[Step, Phase]], bool]) -> None:
    steps, started = case
    records = [msgspec.structs.replace(intended(step, None), phase=phase) for step, phase in steps]
    assert was_started(records) is started


def test_what_a_killed_rollback_made_again_is_known_by_its_uid() -> None:
    undoing = msgspec.structs.replace(DELETED, phase="undoing")
    found = [undo_of(record, MADE_AGAIN, UndoContext("p1")) for record in (undoing, DELETED)]
    assert [(undo.verdict, undo.uid) for undo in found] == [("nothing", "9"), ("nothing", "")]


def test_nothing_is_deleted_after_what_was_not_done() -> None:
    verdicts: dict[Verdict, Verdict] = {"delete": "keep", "patch": "patch", "create": "create", "nothing": "nothing"}
    for verdict, held in verdicts.items():
        assert after_failure(Undo(MADE, verdict, "x"), STOPPED).verdict == held
    assert after_failure(Undo(STOPPED, "nothing", "it no longer exists"), DELETED).verdict == "keep"


FINISHED = {
    "a TrainJob that has finished stays",
    "a runtime that only TrainJobs that have succeeded use stays",
    "the v1 job has finished",
    "the TrainJob has finished: the v1 job does not train again",
    "a deleted job that had finished does not",
}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.verdict == "keep"])
def test_what_stays_is_over_only_where_a_training_has_finished(name: str) -> None:
    found = undo_of(CASES[name].record, CASES[name].present, CASES[name].context)
    assert (found.is_over, found.is_undone) == (name in FINISHED, False)


def test_a_deleted_job_comes_back_suspended() -> None:
    found = undo_of(DELETED, None, UndoContext("p1"))
    assert is_suspended(found.body)
    assert "uid" not in found.body["metadata"]


IN_QUEUE = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpus"}}}
QUEUED_V1 = merge_patch(V1_STOPPED, IN_QUEUE)
CONVERTED = {
    "waits": (RolledBackTrainJob(), True, ""),
    "has finished": (RolledBackTrainJob(is_finished=True), False, "its TrainJob has finished: resumed, it would train again"),
    "has failed": (
        RolledBackTrainJob(is_finished=True, has_failed=True),
        False,
        "its TrainJob has failed. To train on v1 again, resume the v1 job by hand: spec.runPolicy.suspend: false",
    ),
    "runs": (RolledBackTrainJob(is_running=True), False, "its TrainJob runs, and both would train"),
    "is in a queue of its own": (RolledBackTrainJob(queue="gpus"), False, "its TrainJob is in queue gpus, and both would train"),
    "may have trained": (
        RolledBackTrainJob(is_lost=True),
        False,
        "its TrainJob was started and no longer exists: it may have trained to the end.",
    ),
}


@pytest.mark.parametrize(("train_job", "is_queued", "why"), CONVERTED.values(), ids=CONVERTED)
def test_a_deleted_job_comes_back_into_its_queue_only_where_kueue_may_start_it(
    train_job: RolledBackTrainJob, is_queued: bool, why: str
) -> None:
    found = undo_of(record(DELETE, QUEUED_V1, None), None, UndoContext("p1", train_job=train_job))
    assert is_suspended(found.body)
    assert ("kueue.x-k8s.io/queue-name" in (found.body["metadata"].get("labels") or {})) is is_queued
    assert why in found.why
    undoing = msgspec.structs.replace(record(DELETE, QUEUED_V1, None), phase="undoing")
    present = merge_patch(found.body, {"metadata": {"uid": "9"}})
    assert undo_of(undoing, present, UndoContext("p1", train_job=train_job)).uid == "9"


def test_nobody_is_told_to_resume_a_job_that_a_queue_resumes() -> None:
    stopped = record(SUSPEND, merge_patch(V1, IN_QUEUE), QUEUED_V1)
    lost = UndoContext("p1", train_job=RolledBackTrainJob(is_lost=True))
    by_hand, queued = undo_of(STOPPED, V1_STOPPED, lost), undo_of(stopped, QUEUED_V1, lost)
    assert "suspend: false" in by_hand.why
    assert "suspend: false" not in queued.why
    assert "take the v1 job out of queue gpus" in queued.why


def test_the_freeze_goes_first_then_the_last_write() -> None:
    policy = Step("freeze", "create", VALIDATING_POLICIES, "", "x", freeze.policy("p1"))
    steps = [policy, SHARED, CREATE, SUSPEND]
    records = [msgspec.structs.replace(intended(step, None), number=number) for number, step in enumerate(steps, start=1)]
    assert [found.step for found in to_undo(records)] == ["freeze", "suspend", "create", "create runtime"]


def test_what_a_rollback_has_begun_keeps_its_place() -> None:
    definition = Step("definition", "delete", CUSTOM_RESOURCE_DEFINITIONS, "", "x")
    steps = [SHARED, CREATE, SUSPEND, DELETE, definition]
    records = [msgspec.structs.replace(intended(step, None), number=number) for number, step in enumerate(steps, start=1)]
    begun = [msgspec.structs.replace(records[at], phase="undoing", number=10 + at) for at in (4, 3, 0)]
    assert [found.step for found in to_undo([*records, *begun])] == [step.id for step in reversed(steps)]


def test_what_was_undone_or_found_as_wanted_is_not_taken_back() -> None:
    there = msgspec.structs.replace(MADE, outcome="an identical one already exists")
    gone = msgspec.structs.replace(STOPPED, phase="undone")
    assert to_undo([there, STOPPED, gone]) == []
