"""Of many ranks those are named that differ, each with what it differs in; what all have in common is no difference."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.jobs.differing_ranks import Pace, differing_ranks, paces
from shunter.jobs.logs.metrics import log_report
from shunter.jobs.rank_states import RankState, State


def states(count: int, **others: tuple[State, str, int]) -> list[RankState]:
    """Ranks that run, but for those named `r3=(state, reason, restarts)`."""
    found = [RankState(rank=rank, state="Running") for rank in range(count)]
    for name, (state, reason, restarts) in others.items():
        found[int(name[1:])] = RankState(rank=int(name[1:]), state=state, reason=reason, restarts=restarts)
    return found


def texts(ranks: list[RankState], told: dict[int, Pace] | None = None) -> dict[int, str]:
    return {one.rank: one.text for one in differing_ranks(ranks, told or {})}


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (states(4), {}),
        (states(4, r2=("Failed", "exit code 1", 0)), {2: "Failed: exit code 1"}),
        (states(4, r1=("Running", "", 1)), {1: "restarted"}),
        (states(4, r1=("Restarting", "exit code 7", 3)), {1: "Restarting: exit code 7, restarted 3 times"}),
        (states(2, r0=("Running", "", 1), r1=("Running", "", 1)), {}),
        (states(2, r0=("Failed", "exit code 1", 0), r1=("Failed", "exit code 1", 0)), {}),
        (states(2, r0=("Failed", "exit code 1", 0)), {0: "Failed: exit code 1"}),
        ([], {}),
    ],
    ids=["alike", "failed", "restarted", "crash loop", "all restarted", "all failed", "one of two", "no ranks"],
)
def test_what_pods_show(ranks: list[RankState], expected: dict[int, str]) -> None:
    assert texts(ranks) == expected


def test_the_worst_come_first() -> None:
    found = states(6, r1=("Waiting", "Pending", 0), r2=("Running", "", 2), r5=("Failed", "exit code 1", 0))
    assert [one.rank for one in differing_ranks(found, {})] == [5, 1, 2]


def test_a_failure_that_was_survived_is_named() -> None:
    again = RankState(rank=1, state="Running", restarts=1, last_failure="OOMKilled, exit code 137 (SIGKILL)")
    assert texts([*states(1), again, RankState(rank=2, state="Running")]) == {
        1: "restarted (last: OOMKilled, exit code 137 (SIGKILL))"
    }


def told_log(step_seconds: float, steps: int = 40, value: str = "0.5") -> Any:
    """What the log of a rank tells that writes a line each step."""
    lines = [
        f"2026-11-23T12:{int(at) // 60:02}:{at % 60:09.6f}Z step {n} loss {value}"
        for n in range(steps)
        for at in [n * step_seconds]
    ]
    return log_report(lines, pod="p", rank=0).series


def test_a_rank_whose_steps_take_longer_is_slow() -> None:
    found = paces({0: told_log(1.0), 1: told_log(1.1), 2: told_log(1.0), 3: told_log(1.3)}, range(4))
    assert texts(states(4), found) == {3: "slow (steps take 24 % longer)"}


def test_a_few_steps_tell_no_pace() -> None:
    assert texts(states(3), paces({0: told_log(1.0, 9), 1: told_log(1.0, 9), 2: told_log(3.0, 9)}, range(3))) == {}


def test_a_rank_that_stopped_reporting_is_named_by_the_time_of_the_others() -> None:
    found = {0: Pace(last=1000.0, seconds_a_report=1.0), 1: Pace(last=910.0, seconds_a_report=1.0), 2: Pace(last=998.0)}
    assert texts(states(3), found) == {1: "no report for 90s"}


def test_a_rank_whose_log_is_read_no_more_is_not_silent() -> None:
    told = {0: told_log(1.0, 200), 1: told_log(1.0, 200), 2: told_log(1.0, 20)}
    assert texts(states(3), paces(told, {0, 1, 2})) == {2: "no report for 3m"}
    assert texts(states(3), paces(told, {0, 1})) == {}


def test_a_rank_that_has_ended_reports_nothing_by_right() -> None:
    found = {0: Pace(last=1000.0), 1: Pace(last=100.0, seconds_a_step=9.0), 2: Pace(last=999.0, seconds_a_step=1.0)}
    assert texts(states(3, r1=("Succeeded", "", 0)), found) == {1: "Succeeded"}


def test_reports_that_come_seldom_are_waited_for() -> None:
    assert texts(states(2), {0: Pace(last=1000.0, seconds_a_report=60.0), 1: Pace(last=700.0, seconds_a_report=60.0)}) == {}


def test_a_loss_that_is_no_number_on_one_rank_differs() -> None:
    found = paces({0: told_log(1.0), 1: told_log(1.0, value="nan"), 2: told_log(1.0)}, range(3))
    assert texts(states(3), found) == {1: "loss is not finite"}
    assert texts(states(1), paces({0: told_log(1.0, value="nan")}, {0})) == {}


def test_processes_of_one_pod_are_not_taken_for_other_pods() -> None:
    lines = [f"[rank {process}] step {step} loss 0.5" for step in range(20) for process in range(8)]
    assert sorted(paces({1: log_report(lines, pod="p", rank=1).series}, {1})) == [1]
