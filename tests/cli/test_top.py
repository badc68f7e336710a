"""What `top` draws where there is no job to show in detail."""

from __future__ import annotations

from rich.table import Table

from job_evidence import v1_job
from shunter.cli.top import TopView, drawn
from shunter.jobs.evidence import JobCause
from shunter.jobs.listing import Row
from shunter.operator.overview import overview


def test_without_a_job_in_detail_the_list_is_shown() -> None:
    """The first job may be deleted between the list and the look at it."""
    (table,) = drawn(TopView([Row(overview(v1_job()), JobCause(None), None)], None), "", 100, 10)
    assert isinstance(table, Table)
    assert table.row_count == 1
    assert drawn(TopView([], None), "", 100, 10) == ["no jobs; run one with: shunter run FILE"]
