"""One job on a screen: it fits, names what differs, and says what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import NOW, v1_job
from shunter.cli.output.job_screen import job_lines
from shunter.jobs.differing_ranks import differing_ranks
from shunter.jobs.job_view import JobView
from shunter.jobs.logs.metrics import log_report
from shunter.jobs.rank_states import RankState
from shunter.operator.overview import overview


def view(ranks: int = 4, *, steps: int = 50, **more: Any) -> JobView:
    states = [RankState(rank=rank, state="Running") for rank in range(ranks)]
    states[-1] = RankState(rank=ranks - 1, state="Restarting", reason="exit code 7", restarts=2)
    series = log_report([f"step {step} loss {1 / (step + 1)}" for step in range(steps)], pod="p", rank=0).series
    lines = {0: ["of rank 0"], ranks - 1: [f"line {number}" for number in range(40)]}
    job = overview(v1_job(ranks - 1))
    found = JobView(job, None, None, states, differing_ranks(states, {}), series, lines, ())
    return found._replace(**more)


def texts(found: JobView, width: int = 80, height: int = 30, metric: str = "") -> list[str]:
    return [line.plain for line in job_lines(found, metric, width, height, NOW)]


@pytest.mark.parametrize("height", [1, 5, 9, 12, 24, 60])
@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("ranks", [1, 4, 1000])
def test_it_fits_into_any_screen(ranks: int, width: int, height: int) -> None:
    lines = texts(view(ranks), width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)


def test_what_is_on_it() -> None:
    lines = texts(view())
    assert lines[0] == "PyTorchJob n/j Created  age 10m"
    assert lines[1] == "●●●↻"
    assert lines[2] == "4 ranks: ↻ 1 Restarting, ● 3 Running"
    assert lines[3] == "  rank 3: Restarting: exit code 7, restarted 2 times"
    assert lines[4] == "loss (log)"
    assert lines[-1] == "  line 39"
    assert "rank 3" in lines
    assert "of rank 0" not in "".join(lines)


def test_the_first_rank_is_shown_where_none_differs() -> None:
    assert texts(view(differences=()))[-2:] == ["rank 0", "  of rank 0"]


def test_a_log_line_with_tabs_is_as_wide_as_it_is_drawn() -> None:
    """A tab counts as no column until it is written as spaces."""
    assert texts(view(differences=(), last_lines={0: ["\t".join("abcdef")]}), width=30)[-1] == "  a     b       c       d    …"


def test_a_thousand_ranks_take_four_lines_and_no_failure_is_lost() -> None:
    lines = texts(view(1000))
    strip = lines[1 : 1 + 4]
    assert all(set(line) <= {"●", "↻"} for line in strip)
    assert "".join(strip).count("↻") == 1
    assert lines[5] == "1,000 ranks: ↻ 1 Restarting, ● 999 Running; a mark is the worst of up to 4 ranks"


def test_more_differing_ranks_than_are_named_are_counted() -> None:
    states = [RankState(rank=rank, state="Running", restarts=int(rank < 9)) for rank in range(20)]
    lines = texts(view(states=states, differences=differing_ranks(states, {})))
    assert "  and 5 more ranks differ" in lines


def test_without_a_metric_it_says_so() -> None:
    assert "no metric in its logs or reports" in texts(view(series=()))
    assert "no metric 'f1'; there are: loss" in texts(view(), metric="f1")


def test_what_could_not_be_read_is_said() -> None:
    assert "not read: pods could not be listed" in texts(view(unread=("pods",)))
    assert "logs not read: pods/log is forbidden" in texts(view(unread_logs="pods/log is forbidden"))
