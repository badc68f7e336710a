"""What `top` draws fits the screen, also where there is no job to show in detail."""

from __future__ import annotations

import pytest
from rich.console import Console, Group
from rich.table import Table

from cli.output.test_job_screen import view
from job_evidence import NOW, v1_job
from shunter.cli.describe import printed, screen
from shunter.cli.top import TopView, drawn
from shunter.jobs.evidence import JobCause
from shunter.jobs.listing import Row
from shunter.operator.causes import Cause
from shunter.operator.overview import overview


def test_without_a_job_in_detail_the_list_is_shown() -> None:
    """The first job may be deleted between the list and the look at it."""
    (table,) = drawn(TopView([Row(overview(v1_job()), JobCause(None), None)], None, NOW), "", 100, 10)
    assert isinstance(table, Table)
    assert table.row_count == 1
    assert drawn(TopView([], None, NOW), "", 100, 10) == ["no jobs; run one with: shunter run FILE"]


LINES = "Readiness probe failed: Traceback (most recent call last):\n" * 9


def test_no_screen_is_scrolled_by_a_message_of_several_lines() -> None:
    cause = Cause("NotReady", LINES, LINES)
    seen = TopView([Row(overview(v1_job()), JobCause(cause), None)], view(cause=cause), NOW)
    for drawing in (drawn(seen, "", 100, 12), drawn(TopView(seen.rows, None, NOW), "", 100, 12), screen([f"  {LINES}"] * 20, 12)):
        console = Console(width=100, height=12)
        with console.capture() as capture:
            console.print(Group(*drawing))
        assert 0 < len(capture.get().splitlines()) <= 12


@pytest.mark.parametrize("has_job", [True, False], ids=["with a job", "the list alone"])
@pytest.mark.parametrize("jobs", [1, 5, 100])
def test_no_screen_is_scrolled(jobs: int, has_job: bool) -> None:
    rows = [Row(overview(v1_job()), JobCause(None), None)] * jobs
    for width, height in ((20, 3), (80, 4), (100, 6), (100, 7), (100, 24), (30, 40)):
        console = Console(width=width, height=height)
        with console.capture() as capture:
            for line in drawn(TopView(rows, view() if has_job else None, NOW), "", width, height):
                console.print(line)
        shown = capture.get().splitlines()
        assert 0 < len(shown) <= height, (width, height)


def test_jobs_that_do_not_fit_are_counted() -> None:
    rows = [Row(overview(v1_job()), JobCause(None), None)] * 10
    table, more = drawn(TopView(rows, None, NOW), "", 100, 10)
    assert isinstance(table, Table)
    assert (table.row_count, str(more)) == (8, "and 2 more; list them with: shunter jobs")


def test_what_a_program_wrote_for_a_terminal_is_not_printed_as_that() -> None:
    line = printed("  Cause    ValueError: \x1b[2J\x00 end\n  | " + "x" * 20_000)
    first, second = line.split("\n")
    assert (first, len(second)) == ("  Cause    ValueError: \u2400 end", 10_000)
