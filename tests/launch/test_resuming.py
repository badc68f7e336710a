"""From whose checkpoints `--resume` goes on, and what it refuses. Buckets are in tests/recipes/test_buckets.py."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from launch.checkpoints.test_torch_checkpoint import METADATA
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.launch.code.delivery import MountedCode
from shunter.launch.objects import launch
from shunter.launch.options import Checkpoints, LaunchOptions, Program
from shunter.launch.resuming import require_resumable, with_resumed_place
from shunter.launch.runtimes.choice import Runtime
from stored_objects import StoredObjects

TORCH = Runtime("torch-distributed", "torch")
PROGRAM = Program(path="train.py")
CLAIM = Checkpoints(claim="runs")
RESUME = LaunchOptions(program=PROGRAM, resume="lm")


def job(checkpoints: Checkpoints | None, name: str = "lm", *, resume: str = "", **status: Any) -> Json:
    """As `launch` makes it; it has ended unless the test gives another status."""
    options = LaunchOptions(program=PROGRAM, checkpoints=checkpoints, resume=resume)
    made = launch(options, MountedCode("/src"), TORCH, name=name, namespace="team")[-1]
    return {**made, "status": status or {"conditions": [{"type": "Complete", "status": "True"}]}}


def server(*jobs: Json) -> StoredObjects:
    return StoredObjects(*((TRAIN_JOBS, one) for one in jobs))


async def placed(options: LaunchOptions, *jobs: Json) -> tuple[LaunchOptions, list[str]]:
    told: list[str] = []
    return await with_resumed_place(server(*jobs).client, "team", options, told.append), told


async def test_the_place_is_the_one_that_the_other_job_names() -> None:
    options, told = await placed(RESUME, job(CLAIM))
    assert (options.checkpoints, options.resume) == (CLAIM, "lm")
    assert told == ["not checked whether claim runs contains checkpoints of lm; the program must find one"]


async def test_a_job_that_went_on_from_anothers_checkpoints_has_added_to_those() -> None:
    options, _ = await placed(dataclasses.replace(RESUME, resume="lm-2"), job(CLAIM, "lm-2", resume="lm"))
    assert options.resume == "lm"


async def test_without_resume_nothing_is_asked() -> None:
    options = LaunchOptions(program=PROGRAM, checkpoints=CLAIM)
    assert await placed(options) == (options, [])


REFUSED: dict[str, tuple[LaunchOptions, list[Json], str]] = {
    "no place": (RESUME, [job(None)], "TrainJob team/lm does not name the location of its checkpoints"),
    "another place": (
        dataclasses.replace(RESUME, checkpoints=Checkpoints(claim="other")),
        [job(CLAIM)],
        "TrainJob team/lm saves its checkpoints in claim runs, not in claim other",
    ),
    "a job that is gone, and a claim": (
        dataclasses.replace(RESUME, checkpoints=CLAIM),
        [],
        "there is no TrainJob team/lm, and claim runs cannot be listed from this machine",
    ),
    "two that name a checkpoint": (
        dataclasses.replace(RESUME, environment=({"name": "SHUNTER_CHECKPOINT_DIR", "value": "/x"},)),
        [job(CLAIM)],
        "both name a checkpoint to resume from",
    ),
}


@pytest.mark.parametrize(("options", "jobs", "said"), REFUSED.values(), ids=REFUSED)
async def test_a_place_that_is_not_certain_is_refused(options: LaunchOptions, jobs: list[Json], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        await placed(options, *jobs)


async def test_a_job_that_is_gone_may_be_resumed_from_a_directory_of_this_machine(tmp_path: Path) -> None:
    options = dataclasses.replace(RESUME, checkpoints=Checkpoints(directory=str(tmp_path)))
    assert await placed(options) == (options, [])


async def require(options: LaunchOptions, *jobs: Json) -> None:
    await require_resumable(server(*jobs).client, "team", options)


@pytest.mark.parametrize(
    "training",
    [job(CLAIM, active=1), job(CLAIM, "lm-2", resume="lm", active=1)],
    ids=["the job itself", "another that resumed it"],
)
async def test_while_a_job_trains_no_other_writes_the_same_checkpoints(training: Json) -> None:
    with pytest.raises(InputError, match="two jobs would write the same checkpoints") as refusal:
        await require(dataclasses.replace(RESUME, checkpoints=CLAIM), training)
    assert refusal.value.remedy.endswith(f"shunter delete {training['metadata']['name']} -n team")


async def test_a_job_that_has_ended_and_one_of_other_checkpoints_do_not_matter() -> None:
    await require(dataclasses.replace(RESUME, checkpoints=CLAIM), job(CLAIM), job(CLAIM, "other", active=1))


async def test_a_place_that_nobody_names_is_refused() -> None:
    with pytest.raises(InputError, match="neither --checkpoints nor a TrainJob team/lm names the location"):
        await require(RESUME)


async def test_a_directory_without_a_complete_checkpoint_is_refused(tmp_path: Path) -> None:
    options = dataclasses.replace(RESUME, checkpoints=Checkpoints(directory=str(tmp_path)))
    step = tmp_path / "lm" / "step-10"
    step.mkdir(parents=True)
    (step / "__0_0.distcp").write_bytes(b"x")
    with pytest.raises(InputError, match="no complete checkpoint in"):
        await require(options)


async def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path: Path) -> None:
    options = dataclasses.replace(RESUME, checkpoints=Checkpoints(directory=str(tmp_path)))
    step = tmp_path / "lm" / "step-10"
    step.mkdir(parents=True)
    (step / "__0_0.distcp").write_bytes(b"x")
    (step / ".metadata").write_bytes(METADATA)
    with pytest.raises(InputError, match="step-10 is damaged") as refusal:
        await require(options)
    assert refusal.value.remedy == "Remove it, and training resumes from the previous one."
