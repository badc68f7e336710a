"""What becomes of each object of a backup, for every state it was in and everything that may be there now."""

from __future__ import annotations

import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.migrate.moving.backup.index import Entry, state_of
from shunter.migrate.moving.backup.restoring import Choice, counterpart, decided
from shunter.operator.overview import is_suspended

RUNTIME: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "torch", "namespace": "team"},
    "spec": {},
}
JOB = pytorch_job("bert", "team")
SUSPENDED = pytorch_job("bert", "team", suspend=True)
OTHER = pytorch_job("bert", "team", workers=7)


TRAIN_JOB: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "bert-v2", "namespace": "team"},
    "spec": {},
}
WAITING: Json = {**TRAIN_JOB, "spec": {"suspend": True}}
COMPLETE: Json = {**TRAIN_JOB, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}


def entry(state: str, obj: Json = JOB) -> Entry:
    return Entry(file="f", sha256="", api_version=obj["apiVersion"], kind=obj["kind"], name="bert", namespace="team", state=state)


CASES = {
    "a runtime that is gone is made": (entry("", RUNTIME), RUNTIME, None, Choice(), "create"),
    "a job that ran comes back suspended": (entry("Running"), JOB, None, Choice(), "create suspended"),
    "a job that ran runs again when asked to": (entry("Running"), JOB, None, Choice(resume=True), "create"),
    "a suspended job stays suspended whatever is asked": (
        entry("Suspended"), SUSPENDED, None, Choice(resume=True), "create suspended"),
    "a finished job is left in the backup": (entry("Succeeded"), JOB, None, Choice(), "leave"),
    "a failed job is left in the backup": (entry("Failed"), JOB, None, Choice(resume=True), "leave"),
    "a finished job comes back suspended even with resume": (
        entry("Succeeded"), JOB, None, Choice(resume=True, finished=True), "create suspended"),
    "what is there as it was stays": (entry("Running"), JOB, JOB, Choice(), "unchanged"),
    "what is there suspended stays so": (entry("Running"), JOB, SUSPENDED, Choice(resume=True), "unchanged"),
    "what is there and differs is never overwritten": (entry("Running"), JOB, OTHER, Choice(resume=True), "refuse"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_becomes_of_an_object(case: tuple[Entry, Json, Json | None, Choice, str]) -> None:
    found, obj, present, choice, verdict = case
    decision = decided(found, obj, present, choice)
    assert decision.verdict == verdict
    assert (decision.body is not None) == verdict.startswith("create")
    if verdict == "create suspended":
        assert decision.body is not None
        assert is_suspended(decision.body)


@pytest.mark.parametrize(
    ("train_job", "verdict", "why"),
    [
        (WAITING, "create", "it was Running, and runs from the start"),
        (TRAIN_JOB, "create suspended", "its TrainJob bert-v2 runs, and both would train"),
        (COMPLETE, "create suspended", "its TrainJob bert-v2 has finished (Succeeded): resumed, it would train again"),
    ],
    ids=["a TrainJob that waits", "a TrainJob that runs", "a TrainJob that has finished"],
)
def test_a_job_does_not_run_again_beside_or_after_its_train_job(train_job: Json, verdict: str, why: str) -> None:
    decision = decided(entry("Running"), JOB, None, Choice(resume=True), [counterpart(train_job, state_of(train_job))])
    assert (decision.verdict, decision.why) == (verdict, why)


V1 = pytorch_job("bert", "team")
ENDED: Json = {**V1, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}


@pytest.mark.parametrize(
    ("v1_job", "verdict", "why"),
    [
        (SUSPENDED, "create", "it was Running, and runs from the start"),
        (V1, "create suspended", "its PyTorchJob team/bert runs, and both would train"),
        (ENDED, "create suspended", "its PyTorchJob team/bert has finished (Succeeded): resumed, it would train again"),
    ],
    ids=["a v1 job that waits", "a v1 job that runs", "a v1 job that has finished"],
)
def test_a_train_job_does_not_run_again_beside_or_after_its_v1_job(v1_job: Json, verdict: str, why: str) -> None:
    decision = decided(entry("Running", TRAIN_JOB), TRAIN_JOB, None, Choice(resume=True), [counterpart(v1_job, state_of(v1_job))])
    assert (decision.verdict, decision.why) == (verdict, why)
