"""A loss that is not finite, as frameworks write it."""

from __future__ import annotations

import pytest

from doctor.evidences import log, seen
from doctor.rule_cases import ALL_RUN
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(
    ("lines", "since"),
    [
        pytest.param(("step 1 loss inf", "step 2 loss inf"), "step 1 or before", id="from the first line on"),
        pytest.param(("step 1 loss 0.5", "step 2 loss nan", "step 3 loss nan"), "step 2", id="from a step on"),
        pytest.param(("train_loss=-inf", "train_loss=-inf"), None, id="minus infinity, without a step"),
        pytest.param(("{'loss': nan, 'epoch': 1}", "{'loss': nan, 'epoch': 2}"), None, id="a Python dict"),
        pytest.param(('{"step": 1, "loss": NaN}', '{"step": 2, "loss": NaN}'), None, id="JSON"),
        pytest.param(("1/9 [00:01<00:10, loss=nan]", "2/9 [00:02<00:10, loss=nan]"), None, id="a progress bar"),
        pytest.param(
            ("step 1 loss: tensor(nan, device='cuda:0')", "step 2 loss: tensor(nan)"), "step 1 or before", id="a tensor"
        ),
    ],
)
def test_a_loss_that_stays_not_finite_is_told(lines: tuple[str, ...], since: str | None) -> None:
    (verdict,) = diagnose(seen(*ALL_RUN, logs=(log(1, *lines),)), NOW).verdicts
    assert (verdict.id, verdict.ranks) == ("T10", (1,))
    if since is not None:
        assert f"since {since}," in verdict.cause


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("step 1 loss nan",), id="one line only"),
        pytest.param(("step 1 loss nan", "step 2 loss 0.5", "step 3 loss nan"), id="one of the last two lines"),
        pytest.param(("step 1 loss 0.5 grad_norm inf", "step 2 loss 0.5 grad_norm inf"), id="a gradient norm"),
        pytest.param(("step 1 loss 0.5", "info: nan values are masked", "info: inf"), id="words that are no loss"),
        pytest.param((), id="an empty log"),
    ],
)
def test_nothing_is_said_of_a_loss_that_may_be_finite(lines: tuple[str, ...]) -> None:
    assert diagnose(seen(*ALL_RUN, logs=(log(1, *lines),)), NOW).verdicts == ()
