"""Ranks that rest soon after their start: whether they train is not known, and no report says that nothing is wrong."""

from __future__ import annotations

import pytest

from doctor.evidences import log
from doctor.working_ranks import COMPUTES, IN_CALL, RESTS, Work, report
from shunter.doctor.evidence import Frame
from shunter.doctor.verdicts import Report

SLEEPS = RESTS._replace(uses_cuda=False)
JOINS = SLEEPS._replace(frames=(Frame(function="init_process_group", file="torch/distributed/distributed_c10d.py", line=9),))
NO_LINES = (log(0), log(1))
STEPS = ("step 1 loss 0.5", "step 2 loss 0.4", "step 3 loss 0.3")


def unknown(found: Report) -> list[str]:
    return [one.why for one in found.not_checked if one.what == "progress"]


@pytest.mark.parametrize(
    "works",
    [
        pytest.param((SLEEPS, SLEEPS), id="in their own code"),
        pytest.param((SLEEPS,), id="one rank"),
        pytest.param((IN_CALL, IN_CALL), id="in a collective"),
        pytest.param((JOINS._replace(switches=50), JOINS), id="in the rendezvous, which they wake to poll"),
    ],
)
def test_ranks_that_rest_since_their_start_are_undecided(works: tuple[Work, ...]) -> None:
    """In the first 90 s they were reported with `no problem found` and exit code 0."""
    found = report(*works, logs=NO_LINES[: len(works)], age=20.0)
    assert not found.verdicts
    rest = "all ranks rest, but only 20 s have passed since their start: run shunter doctor again in a few minutes"
    assert (unknown(found), found.exit_code) == ([rest], 3)


def test_one_message_is_no_pace() -> None:
    loads = tuple(log(rank, "loading", "model of 3 layers", at=8.0) for rank in (0, 1))
    found = report(SLEEPS, SLEEPS, logs=loads, age=20.0)
    assert unknown(found) == [
        "all ranks rest, but only 8 s have passed since their last line: run shunter doctor again in a few minutes"
    ]


@pytest.mark.parametrize(
    ("works", "written"),
    [
        pytest.param((COMPUTES, COMPUTES), (), id="they compute"),
        pytest.param((SLEEPS, COMPUTES), (), id="one computes"),
        pytest.param((SLEEPS, SLEEPS._replace(next_line=40)), (), id="one goes on"),
        pytest.param((IN_CALL, IN_CALL._replace(switches=50)), (), id="a collective woke one"),
        pytest.param((SLEEPS, SLEEPS._replace(switches=50)), (), id="one wakes, as in a download"),
        pytest.param((SLEEPS, SLEEPS), STEPS, id="they write lines at a pace"),
    ],
)
def test_ranks_that_show_any_progress_are_well(works: tuple[Work, ...], written: tuple[str, ...]) -> None:
    found = report(*works, logs=tuple(log(rank, *written, at=4.0, every=3.0) for rank in (0, 1)), age=20.0)
    assert (found.verdicts, unknown(found), found.exit_code) == ((), [], 0)


def test_beside_a_verdict_it_says_nothing() -> None:
    found = report(SLEEPS, SLEEPS, logs=NO_LINES, age=130.0)
    assert ([one.id for one in found.verdicts], unknown(found)) == (["S02"], [])
