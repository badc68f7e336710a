"""What is said of a job that was stopped."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch import saved_at_stop
from shunter.launch.checkpoints.location import CheckpointLocation
from shunter.launch.checkpoints.saved import SavedStep
from shunter.launch.code.delivery import MountedCode
from shunter.launch.objects import launch
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime
from shunter.launch.saved_at_stop import StoppedCheckpoints, read_saved, stop_sentence
from shunter.operator.training_progress import Checkpoint

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = CheckpointLocation("/workspace/checkpoints/sc", directory=Path("/state/team/sc"))
BUCKET, CLAIM = CheckpointLocation("s3://b/sc"), CheckpointLocation("/workspace/checkpoints/sc", claim="data", inside="sc")
JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "sc", "namespace": "team"},
    "spec": {"trainer": {"env": [{"name": "SHUNTER_CHECKPOINT_DIR", "value": "s3://b/sc"}]}},
}
WORDS = "stopped by SIGTERM, saved step 13"


def step(number: int, seconds: int, *, is_complete: bool = True) -> SavedStep:
    return SavedStep(number, 10, NOON + timedelta(seconds=seconds), is_complete)


def here(*steps: SavedStep, words: str = "") -> StoppedCheckpoints:
    return StoppedCheckpoints(HERE, steps, is_read=True, words=words)


SAID = {
    "saved after it was told to stop": (here(step(411, 2), step(400, -9)), "stopped, saved step 411"),
    "saved just before, and its program says that this is it": (
        here(step(13, -1), words=WORDS),
        "stopped, saved step 13",
    ),
    "its log alone": (StoppedCheckpoints(words=WORDS), "stopped, saved step 13 (according to its log)"),
    "its log, of a bucket": (StoppedCheckpoints(BUCKET, words=WORDS), "stopped, saved step 13 (according to its log)"),
    "its log says what is not there": (
        here(step(10, -9), words=WORDS),
        "stopped, saved step 13 (according to its log, but /state/team/sc has no such step)",
    ),
    "a stop of which nothing was saved": (
        StoppedCheckpoints(HERE, is_read=True, words="stopped by SIGTERM, nothing is saved"),
        "stopped by SIGTERM, nothing is saved (according to its log)",
    ),
    "nothing saved at the end": (here(step(400, -9)), "stopped; its newest checkpoint is of step 400, 9s before"),
    "killed while it saved": (
        here(step(411, 2, is_complete=False), step(400, -9)),
        "stopped; its newest checkpoint is of step 400, 9s before; the save of step 411 was interrupted",
    ),
    "reported in time": (
        StoppedCheckpoints(CLAIM, reported=Checkpoint(7, NOON)),
        "stopped, saved step 7 (according to its report)",
    ),
    "reported before": (
        StoppedCheckpoints(CLAIM, reported=Checkpoint(7, NOON - timedelta(seconds=1))),
        "stopped; the newest checkpoint that it reported is of step 7",
    ),
    "reported without a time": (
        StoppedCheckpoints(reported=Checkpoint(7)),
        "stopped; the newest checkpoint that it reported is of step 7",
    ),
    "an empty directory": (here(), "stopped; no checkpoint in /state/team/sc"),
    "files of another form": (
        StoppedCheckpoints(HERE, is_read=True, other="model.pt"),
        "stopped; no checkpoint of a known form in /state/team/sc, which holds model.pt",
    ),
    "a bucket": (StoppedCheckpoints(BUCKET), "stopped; unknown whether it has saved, see s3://b/sc: aws s3 ls s3://b/sc/"),
    "a claim": (StoppedCheckpoints(CLAIM), "stopped; unknown whether it has saved, see sc in claim data"),
    "a directory of another machine": (
        StoppedCheckpoints(HERE),
        "stopped; unknown whether it has saved, see /state/team/sc",
    ),
}


@pytest.mark.parametrize(("saved", "sentence"), SAID.values(), ids=SAID)
def test_a_stop_says_what_is_saved_by_what_is_surest(saved: StoppedCheckpoints, sentence: str) -> None:
    assert stop_sentence(JOB, saved, NOON) == f"sc: {sentence}"


def test_nothing_is_said_of_a_job_that_saves_nothing_that_we_know_of() -> None:
    assert stop_sentence(JOB, StoppedCheckpoints(), NOON) == ""


def test_the_directory_is_read_only_where_it_is_on_this_machine(tmp_path: Path) -> None:
    place = tmp_path / "sc" / "step-5"
    place.mkdir(parents=True)
    (place / ".metadata").touch()
    os.utime(place / ".metadata", (NOON.timestamp(), NOON.timestamp()))
    volume = {"name": "checkpoints", "hostPath": {"path": str(tmp_path)}}
    pods = {"name": "node", "template": {"spec": {"template": {"spec": {"volumes": [volume]}}}}}
    patch = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [pods]}}}}
    env = [{"name": "SHUNTER_CHECKPOINT_DIR", "value": "/workspace/checkpoints/sc"}]
    job = {**JOB, "spec": {"runtimePatches": [patch], "trainer": {"env": env}}}
    assert stop_sentence(job, read_saved(job, "", on_this_machine=True), NOON) == "sc: stopped, saved step 5"
    assert read_saved(job, "", on_this_machine=False).steps == ()


def test_a_directory_that_may_not_be_read_keeps_no_job_from_deletion(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_: Path) -> list[SavedStep]:
        raise InputError("checkpoints: /state/team/sc cannot be read: Permission denied.")

    monkeypatch.setattr(saved_at_stop, "saved_steps", refuse)
    job = launch(
        LaunchOptions(program=Program(path="sc.py"), checkpoints=Checkpoints(directory=str(tmp_path))),
        MountedCode("/src"),
        Runtime("torch", "torch"),
        name="sc",
        namespace="team",
    )[-1]
    sentence = f"sc: stopped; unknown whether it has saved, see {tmp_path}/sc"
    assert stop_sentence(job, read_saved(job, "", on_this_machine=True), NOON) == sentence
