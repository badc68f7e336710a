"""What `checkpoints` says of checkpoints that are not whole, and of what a restore makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.table import Table

from launch.checkpoints.test_torch_checkpoint import BYTES, FILE, METADATA
from shunter.cli.checkpoints import jobs_table, restore_note, steps_table
from shunter.launch.checkpoints.saved import SavedCheckpoints, saved_checkpoints

TRAINER = "resume_from_checkpoint=True of transformers takes the newest directory: unless it is still being saved, remove"
WHOLE, TORN, HALF, TRAINED, BEGUN = "whole", "torn", "half", "trained", "begun"
"""TRAINED is one of transformers' Trainer, BEGUN the recipe's with what becomes its `.metadata`."""


def column(table: Table, title: str) -> list[str]:
    (found,) = (column for column in table.columns if column.header == title)
    return [str(cell) for cell in found.cells]


def saved(root: Path, **steps: str) -> SavedCheckpoints:
    for name, state in steps.items():
        place = root / "team/train" / name.replace("_", "-")
        place.mkdir(parents=True)
        (place / FILE).write_bytes(b"x" * (5 if state == TORN else BYTES))
        if state == TRAINED:
            (place / "trainer_state.json").write_text("{}")
        elif state == BEGUN:
            (place / ".metadata.new").write_text("{}")
        elif state != HALF:
            (place / ".metadata").write_bytes(METADATA)
    (only,) = saved_checkpoints(root, [])
    return only


def test_each_checkpoint_that_is_not_whole_is_marked_down_to_the_first_that_is(tmp_path: Path) -> None:
    only = saved(tmp_path, step_9=HALF, step_8=TORN, step_7=WHOLE, step_6=TORN)
    torn = f"damaged: {FILE} has 5 bytes of 2,838"
    table = steps_table(only.steps)
    assert column(table, "STEP") == ["9", "8", "7", "6"]
    assert column(table, "") == ["incomplete", torn, "", ""]
    jobs = jobs_table([only])
    assert (column(jobs, "NEWEST"), column(jobs, "")) == (["8"], [torn])


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        pytest.param({"step_7": WHOLE, "step_6": TORN}, "", id="the first is whole"),
        pytest.param(
            {"step_9": HALF, "step_7": WHOLE},
            "restore: from step 7; incomplete checkpoints are ignored",
            id="the first is incomplete",
        ),
        pytest.param(
            {"step_9": HALF, "step_8": TORN, "checkpoint_7": TORN, "step_6": WHOLE},
            "restore: fails, as step 8 is damaged; remove ROOT/team/train/step-8 and ROOT/team/train/checkpoint-7, "
            "and it goes on from step 6",
            id="two are damaged",
        ),
        pytest.param(
            {"step_8": TORN},
            "restore: fails, as step 8 is damaged; remove ROOT/team/train/step-8, and it starts from the beginning",
            id="none is whole",
        ),
        pytest.param(
            {"step_8": HALF},
            "restore: none of these is complete, so --resume is rejected, and the recipes start from the beginning",
            id="none is complete",
        ),
        pytest.param(
            {"checkpoint_40": HALF, "checkpoint_30": HALF, "checkpoint_20": TRAINED, "checkpoint_10": HALF},
            f"restore: from step 20; the recipes ignore incomplete checkpoints; {TRAINER} "
            "ROOT/team/train/checkpoint-40 and ROOT/team/train/checkpoint-30",
            id="the first of the Trainer is incomplete",
        ),
        pytest.param(
            {"checkpoint_40": HALF, "checkpoint_30": TORN, "checkpoint_20": TRAINED},
            "restore: fails, as step 30 is damaged; remove ROOT/team/train/checkpoint-30, and it goes on from step 20; "
            f"{TRAINER} ROOT/team/train/checkpoint-40",
            id="the first of the Trainer is incomplete, the next damaged",
        ),
        pytest.param(
            {"checkpoint_1000": HALF, "checkpoint_500": HALF},
            "restore: none of these is complete, so --resume is rejected, and the recipes start from the beginning",
            id="another library's, which has no file that makes one complete",
        ),
        pytest.param(
            {"checkpoint_1000": HALF, "step_100": WHOLE},
            "restore: from step 100; incomplete checkpoints are ignored",
            id="another library's beside one of torch",
        ),
        pytest.param({"checkpoint_200": TRAINED, "step_100": WHOLE}, "", id="the Trainer's beside one of torch"),
        pytest.param(
            {"checkpoint_300": BEGUN, "checkpoint_200": TRAINED, "checkpoint_100": TRAINED},
            f"restore: from step 200; the recipes ignore incomplete checkpoints; {TRAINER} ROOT/team/train/checkpoint-300",
            id="a save of the recipe has only begun",
        ),
    ],
)
def test_what_a_restore_does_is_said_where_it_is_not_the_first_that_is_restored(
    tmp_path: Path, steps: dict[str, str], note: str
) -> None:
    assert restore_note(saved(tmp_path, **steps)) == note.replace("ROOT", str(tmp_path))


def test_a_state_of_the_trainer_is_not_to_be_removed_where_the_recipe_has_not_marked_it(tmp_path: Path) -> None:
    """Transformers can restore it; the recipe ignores it."""
    saved(tmp_path, checkpoint_40=TRAINED, checkpoint_20=WHOLE)
    (tmp_path / "team/train/checkpoint-20/trainer_state.json").write_text("{}")
    (only,) = saved_checkpoints(tmp_path, [])
    assert [(step.step, step.is_complete, step.has_trainer_state) for step in only.steps] == [(40, False, True), (20, True, True)]
    assert restore_note(only) == "restore: from step 20; incomplete checkpoints are ignored"


def test_a_checkpoint_that_is_being_removed_is_not_called_damaged(tmp_path: Path) -> None:
    """Its `.metadata` may be gone between being seen and being read."""
    saved(tmp_path, step_8=TORN)
    metadata = tmp_path / "team/train/step-8/.metadata"
    metadata.unlink()
    metadata.symlink_to(metadata.parent / "gone")
    found = saved_checkpoints(tmp_path, [])
    assert not any(step.damage for one in found for step in one.steps)
