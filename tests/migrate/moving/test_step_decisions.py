"""What becomes of a step, for every state in which its object and the journal can be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.annotations import PLAN, marked
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.step_decisions import contains, decided, intended, move_obstacle, start_obstacle
from shunter.migrate.moving.steps import RUNNING_V2, SUSPENDED_V1, V1_JOBS, Step

V1: Json = pytorch_job("bert", "team", uid="1", resourceVersion="5")
V1_STOPPED: Json = merge_patch(V1, SUSPENDED_V1)
TRAIN_JOB: Json = {
    "apiVersion": TRAIN_JOBS.api_version,
    "kind": "TrainJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "2", "resourceVersion": "6", "annotations": {PLAN: "p1"}},
    "spec": {"suspend": True, "trainer": {"numNodes": 2}},
}
RUNTIME: Json = {**TRAIN_JOB, "kind": "TrainingRuntime", "spec": {"mlPolicy": {"numNodes": 2}}}
CREATE = Step("create", "create", TRAIN_JOBS, "team", "bert", TRAIN_JOB)
SHARED = Step("create runtime", "create", TRAINING_RUNTIMES, "team", "bert", RUNTIME, shared=True)
SUSPEND = Step("suspend", "patch", V1_JOBS["PyTorchJob"], "team", "bert", SUSPENDED_V1, sha256=digest(V1))
START = Step("start", "patch", TRAIN_JOBS, "team", "bert", RUNNING_V2)
DELETE = Step("delete", "delete", V1_JOBS["PyTorchJob"], "team", "bert", sha256=digest(V1), uid="1")
OURS = intended(SUSPEND, V1)


def other_plans(obj: Json) -> Json:
    return marked(obj, {PLAN: "p2"})


def without_mark(obj: Json, **changes: Any) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "annotations": {}}, **changes}


def finished(obj: Json) -> Json:
    return {**obj, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}


CASES: dict[str, tuple[Step, Json | None, Record | None, str, str]] = {
    "nothing is there: it is made": (CREATE, None, None, "", "write"),
    "an earlier run made it, and was killed": (CREATE, TRAIN_JOB, None, "", "written"),
    "another plan made one": (CREATE, other_plans(TRAIN_JOB), None, "", "refuse"),
    "somebody else made one": (CREATE, without_mark(TRAIN_JOB), None, "", "refuse"),
    "an equal runtime of somebody else does": (SHARED, without_mark(RUNTIME), None, "", "unchanged"),
    "an equal runtime of another plan does": (SHARED, other_plans(RUNTIME), None, "", "unchanged"),
    "a runtime with more defaults does": (
        SHARED, without_mark(RUNTIME, spec={"mlPolicy": {"numNodes": 2, "torch": {}}}), None, "", "unchanged"),
    "a different runtime does not": (SHARED, without_mark(RUNTIME, spec={"mlPolicy": {"numNodes": 3}}), None, "", "refuse"),
    "the v1 job is as planned: it is suspended": (SUSPEND, V1, None, "", "write"),
    "an earlier run suspended it, and was killed": (SUSPEND, V1_STOPPED, OURS, "", "written"),
    "an earlier run was killed before it did": (SUSPEND, V1, OURS, "", "write"),
    "somebody else suspended it": (SUSPEND, V1_STOPPED, None, "", "unchanged"),
    "the v1 job was changed": (SUSPEND, merge_patch(V1, {"metadata": {"labels": {"a": "b"}}}), None, "", "refuse"),
    "the v1 job does not exist": (SUSPEND, None, None, "", "refuse"),
    "the TrainJob is as we made it: it starts": (START, TRAIN_JOB, None, digest(TRAIN_JOB), "write"),
    "the TrainJob was changed": (START, TRAIN_JOB, None, "other", "refuse"),
    "the TrainJob has finished": (START, finished(TRAIN_JOB), None, digest(TRAIN_JOB), "refuse"),
    "the v1 job is as it was seen: it is deleted": (DELETE, V1, None, "", "write"),
    "it is deleted already": (DELETE, None, None, "", "written"),
    "another job has its name": (DELETE, merge_patch(V1, {"metadata": {"uid": "9"}}), None, "", "refuse"),
    "it was changed before it was deleted": (DELETE, V1_STOPPED, None, "", "refuse"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_becomes_of_a_step(case: tuple[Step, Json | None, Record | None, str, str]) -> None:
    step, present, last, known, verdict = case
    decision = decided(step, present, last, known)
    assert decision.verdict == verdict
    assert bool(decision.why) == (verdict in ("refuse", "unchanged"))


@pytest.mark.parametrize("present", [V1, pytorch_job("bert", "team", suspend=True)], ids=["it ran", "it was suspended"])
def test_a_patch_can_be_taken_back(present: Json) -> None:
    record = intended(SUSPEND, present)
    after = merge_patch(present, SUSPENDED_V1)
    assert record.after == digest(after)
    assert merge_patch(after, record.undo) == present


def test_a_job_without_a_run_policy_has_none_afterwards() -> None:
    present = {**V1, "spec": {}}
    assert merge_patch(merge_patch(present, SUSPENDED_V1), intended(SUSPEND, present).undo) == present


def test_what_is_deleted_is_kept_without_what_the_cluster_added() -> None:
    assert intended(DELETE, V1).undo == pytorch_job("bert", "team")


def test_of_what_is_there_already_no_copy_is_kept() -> None:
    assert intended(SHARED, without_mark(RUNTIME)).undo == {}


def test_defaults_of_the_server_make_no_difference() -> None:
    assert contains({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"c": 2}]})
    assert not contains({"b": [{"c": 2}, {}]}, {"b": [{"c": 2}]})


@pytest.mark.parametrize(
    ("condition", "pods", "why"),
    [
        ("Suspended", 0, ""),
        ("Suspended", 2, "2 pods of the v1 job still run"),
        ("Running", 0, "the v1 job is not suspended yet (Running)"),
    ],
)
def test_a_train_job_starts_only_when_its_v1_job_has_stopped(condition: str, pods: int, why: str) -> None:
    job = {**V1, "status": {"conditions": [{"type": condition, "status": "True"}]}}
    assert start_obstacle(job, pods) == why
    assert move_obstacle(job) == ""


def test_a_job_that_has_finished_meanwhile_has_nothing_left_to_move() -> None:
    job = {**V1, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    assert move_obstacle(job) == "the v1 job has finished meanwhile (Succeeded): a TrainJob created from it would train again"
    assert move_obstacle(None) == "the v1 job does not exist"


def test_records_survive_json() -> None:
    record = intended(DELETE, V1)
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record
