"""Which checkpoint is the newest by a log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.jobs.logs.checkpoints import saved_checkpoint
from shunter.jobs.logs.progress import logged_progress
from shunter.jobs.progress_text import ProgressCells, cells
from shunter.operator.training_progress import Checkpoint


def written(*lines: str) -> list[str]:
    """The lines as a kubelet gives them, one every two seconds from noon on."""
    return [f"2026-01-01T12:00:{2 * number:02}.5Z {line}" for number, line in enumerate(lines)]


def saved(step: int, second: int) -> Checkpoint:
    return Checkpoint(step, datetime(2026, 1, 1, 12, 0, second, 500_000, tzinfo=UTC))


LATER = "{'loss': 0.25, 'grad_norm': 1.5, 'epoch': 1.5}"
TRANSFORMERS = "Saving model checkpoint to out/checkpoint-500"
DEEPSPEED = (
    "[2026-01-01 12:00:00,000] [INFO] [logging.py:107:log_dist] [Rank 0] [Torch] Checkpoint global_step40 is about to be saved!"
)

SAVED = {
    "lm.py": ("saved step 13", 13),
    "at SIGTERM": ("stopped by SIGTERM, saved step 13", 13),
    "beside the step that is trained now": ("step 100 loss 0.5, saved step 50", 50),
    "Megatron": ("  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/1, p 1/1 ]", 500),
    "a directory": ("Saved checkpoint to runs/step-500", 500),
    "a directory with a slash": ("checkpoint saved to /mnt/runs/checkpoint-500/", 500),
    "a file": ("Saved model to ckpt_500.pt.", 500),
    "a path with a level above that has a number": ("Saved checkpoint to step-9/checkpoint-500", 500),
    "Lightning's name of a file": ("model saved: logs/epoch=3-step=500.ckpt", 500),
    "the step first": ("Step 500: checkpoint saved", 500),
    "the step first, then what was saved": ("step 500: saved the model", 500),
    "the checkpoint first": ("checkpoint 500 has been saved", 500),
    "a logger": ("2026-01-01 12:00:00 INFO train.py:12 Saved checkpoint at step 500", 500),
}

NOTHING = {
    "the beginning of a save": ["saving step 13"],
    "what will be saved": ["checkpoint will be saved to runs/step-500", "Saving checkpoint at step 500", "step 1 loss 0.5"],
    "what was not saved": [
        "error: Step 5 is not saved: --checkpoint-dir must have room",
        "Failed to save: saved step 5 is broken",
    ],
    "what could not be saved": ["step 500: checkpoint could not be saved"],
    "SIGTERM without a place": ["stopped by SIGTERM, saved nothing: no --checkpoint-dir"],
    "a part of a checkpoint": [
        "Model weights saved in out/checkpoint-500/model.safetensors",
        "Configuration saved in out/checkpoint-500/config.json",
    ],
    "torchtune, which names no step": [
        "INFO:torchtune:Model checkpoint of size 0.50 GiB saved to /tmp/out/epoch_0/model-00001-of-00001.safetensors"
    ],
    "torchtitan, whose save may go on in the background": [
        "step: 500 loss: 6.2",
        "Saving the checkpoint (or staging if async is enabled).",
        "Finished saving the checkpoint (or staging if async is enabled) in 1.2 seconds.",
        "step: 510 loss: 6.1",
    ],
    "Lightning, which announces a save that may go on in the background": [
        "Epoch 0, global step 500: 'val_loss' reached 0.5 (best 0.5), saving model to '/x/epoch=0-step=500.ckpt' as top 1",
        "step 600 loss 0.5",
    ],
    "a number in groups of digits": ["saved step 1,000"],
    "other things": [
        "saved plot to loss_500.png",
        "saved 500 images",
        "step 500: saved plot to x.png",
        "saved samples to out/step-500",
        "model predictions saved to out/step-500",
    ],
    "an announced save that may have been killed": [
        LATER,
        TRANSFORMERS,
        "Model weights saved in out/checkpoint-500/model.safetensors",
    ],
    "an announced one of DeepSpeed": [LATER, DEEPSPEED],
}


@pytest.mark.parametrize(("line", "step"), SAVED.values(), ids=SAVED)
def test_a_line_that_tells_of_a_saved_checkpoint(line: str, step: int) -> None:
    assert saved_checkpoint(written("step 1 loss 1", line)) == saved(step, 2)


@pytest.mark.parametrize("lines", NOTHING.values(), ids=NOTHING)
def test_lines_that_do_not(lines: list[str]) -> None:
    assert saved_checkpoint(written(*lines)) is None


@pytest.mark.parametrize(("line", "step"), [(TRANSFORMERS, 500), (DEEPSPEED, 40)])
def test_an_announced_save_has_ended_when_the_training_goes_on(line: str, step: int) -> None:
    assert saved_checkpoint(written("hello", line, "something else", LATER)) == saved(step, 2)
    assert saved_checkpoint(written("saved step 3", line)) == saved(3, 0)


def test_the_last_one_counts_also_after_a_return_to_an_earlier_step() -> None:
    assert saved_checkpoint(written("saved step 50", "saved step 20")) == saved(20, 2)


def test_it_stands_in_the_list_of_jobs() -> None:
    found = logged_progress(written("step 10 loss 0.5", "saved step 10", "step 20 loss 0.4"))
    now = datetime(2026, 1, 1, 12, 0, 14, 500_000, tzinfo=UTC)
    assert cells(found, now, is_running=True) == ProgressCells("20 (log)", "0.4", "", "10 (12s ago)")
    alone = logged_progress(written("saved step 10"))
    assert cells(alone, now, is_running=True) == ProgressCells("(log)", checkpoint="10 (14s ago)")
