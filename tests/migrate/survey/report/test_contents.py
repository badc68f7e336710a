"""What all forms of a report say."""

from __future__ import annotations

from shunter.migrate.conversion.batch import Batch
from shunter.migrate.survey.report.contents import of_batch


def test_contents_count_fields(batch: Batch) -> None:
    bert, hostile, broken = of_batch(batch).items
    assert bert.carried
    assert hostile.reported == 1
    assert (broken.outcome, broken.profile, broken.carried) == ("unreadable", "", 0)
