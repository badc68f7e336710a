"""How far a training is by its log."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime

import pytest

from shunter.jobs.logs.progress import logged_progress
from shunter.jobs.progress_text import cells
from shunter.operator.training_progress import Progress
from shunter.page.views.jobs import progress_of


def written(*lines: str) -> list[str]:
    """The lines as a kubelet gives them, one every two seconds from noon on."""
    return [f"2026-01-01T12:00:{2 * number:02}.5Z {line}" for number, line in enumerate(lines)]


def at(second: float) -> datetime:
    return datetime(2026, 1, 1, 12, 0, int(second), 500_000, tzinfo=UTC)


def read(second: int, **fields: object) -> Progress:
    return Progress(at(second), **fields, source="log")  # type: ignore[arg-type]


TOLD = {
    "steps with their number": (
        ["starting", "step 10/300 loss 1.5", "step 20/300 loss 1.26"],
        read(4, step=20, steps=300, loss=1.26, remaining_seconds=56)),
    "a bar of tqdm": (
        [" 10%|█         | 10/100 [00:02<00:18, 5.00it/s, loss=1.5]", " 20%|██        | 20/100 [00:04<00:16, loss=1.26]"],
        read(2, step=20, steps=100, loss=1.26, remaining_seconds=16)),
    "steps": (["step 10 loss 1.5", "step 20 loss 1.26", "saving"], read(2, step=20, loss=1.26)),
    "one line tells no pace": (["step 10 of 300: loss 1.5"], read(0, step=10, steps=300, loss=1.5)),
    "epochs": (["epoch 3: loss 0.5"], read(0, epoch=3.0, loss=0.5)),
    "epochs after steps": (["step 10 loss 1.5", "epoch 3: loss 0.5"], read(2, epoch=3.0, loss=0.5)),
    "PyTorch's MNIST example": (
        ["Train Epoch: 1 [640/60000 (1%)]\tloss=0.5"], read(0, epoch=1.0, step=640, loss=0.5)),
    "Hugging Face's Trainer": (["{'loss': 0.25, 'grad_norm': 1.5, 'epoch': 1.5}"], read(0, epoch=1.5, loss=0.25)),
    "JSON": (['{"step": 7, "loss": 0.25}'], read(0, step=7, loss=0.25)),
    "a loss without steps": (["loss 0.5", "loss 0.25"], read(2, loss=0.25)),
    "no loss": (["step 4 accuracy 0.5"], read(0, step=4)),
    "a loss of validation is not that of training": (
        ["step 10 loss 0.5", "step 10 val_loss 0.7"], read(0, step=10, loss=0.5)),
    "a restart": (
        ["step 50/60 loss 0.5", "step 20/60 loss 0.9", "step 30/60 loss 0.8"], read(4, step=30, steps=60, loss=0.8)),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), TOLD.values(), ids=TOLD)
def test_what_lines_tell(lines: list[str], expected: Progress) -> None:
    assert logged_progress(written(*lines)) == expected


def test_a_loss_that_is_no_number_any_more_is_told() -> None:
    found = logged_progress(written("step 10 loss 1.5", "step 20 loss nan"))
    assert found is not None
    assert found.loss is not None
    assert math.isnan(found.loss)


ENDLESS = {
    "beyond the calendar": 10**13, "an iterable without an end": sys.maxsize, "no float": 10**400, "no number": "9" * 5000,
}  # fmt: skip


@pytest.mark.parametrize("steps", ENDLESS.values(), ids=ENDLESS)
def test_a_training_without_an_end_in_sight_has_none(steps: int | str) -> None:
    found = logged_progress(written(f"step 10/{steps} loss 1.5", f"step 20/{steps} loss 1.26"))
    assert found is not None
    assert (found.step, found.loss, found.ends, found.remaining(at(4))) == (20, 1.26, None, None)
    listed, shown = cells(found, at(4), is_running=True), progress_of(found)
    assert listed.remaining == ""
    assert shown is not None
    assert (f"{shown.position} (log)", shown.ends) == (f"step {listed.step}", 0)


HUGE = [
    "rank {0}: step 20 loss 1.26", "rank 0/{0} step 20 loss 1.26", "world_size={0} step 20 loss 1.26", "saved checkpoint {0}",
    "checkpoint {0} saved", "{{'step': 20, 'loss': 1.26, 'tokens': {0}}}", '{{"step": 20, "loss": 1.26, "tokens": {0}}}',
]  # fmt: skip


@pytest.mark.parametrize("digits", [20, 400, 5000])
@pytest.mark.parametrize("line", HUGE)
def test_no_number_is_too_long_for_the_other_lines(line: str, digits: int) -> None:
    found = logged_progress(written("step 20 loss 1.26", line.format("9" * digits)))
    assert found is not None
    assert found.loss == 1.26


@pytest.mark.parametrize("lines", [[], ["hello"], ["listening on port 29500"], ["rank 0 of 2, seed 7"]])
def test_other_lines_tell_nothing(lines: list[str]) -> None:
    assert logged_progress(written(*lines)) is None
