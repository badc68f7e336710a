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


FINITE = "step 1 loss 0.5"


@pytest.mark.parametrize(
    ("logs", "cause"),
    [
        pytest.param(
            {0: ("step 7 loss nan", "step 8 loss nan"), 1: ("step 8 loss nan", "step 9 loss nan")},
            "since step 7 or before, on ranks 0 and 1",
            id="both logs are cut off",
        ),
        pytest.param(
            {0: (FINITE, "step 7 loss nan", "step 8 loss nan"), 1: ("step 8 loss nan", "step 9 loss nan")},
            "since step 7 or before, on ranks 0 and 1",
            id="the later one is cut off",
        ),
        pytest.param(
            {0: ("step 7 loss nan", "step 8 loss nan"), 1: (FINITE, "step 8 loss nan", "step 9 loss nan")},
            "since step 7 or before, on rank 0 first",
            id="the earlier one is cut off",
        ),
        pytest.param(
            {0: (FINITE, "step 7 loss nan", "step 8 loss nan"), 1: (FINITE, "step 8 loss nan", "step 9 loss nan")},
            "since step 7, on rank 0 first",
            id="none is cut off",
        ),
    ],
)
def test_a_rank_is_called_first_only_if_no_other_may_have_been_earlier(logs: dict[int, tuple[str, ...]], cause: str) -> None:
    """Of four ranks that wrote `nan` for more lines than are read, rank 0 was called first, whose log was read first."""
    evidence = seen(*ALL_RUN, logs=tuple(log(rank, *lines) for rank, lines in logs.items()))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert verdict.cause == f"the loss is not finite {cause}"


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
