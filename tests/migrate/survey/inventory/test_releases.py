"""Which Trainer a result needs."""

from __future__ import annotations

import pytest

from migrate.survey.inventory.rows import job, row
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("value", "release"),
    [(job(), "2.0"), (job(runPolicy={"activeDeadlineSeconds": 60}), "2.2"), (job(runPolicy="none"), "")],
    ids=["a plain job", "a deadline", "no result"],
)
def test_the_oldest_trainer_that_runs_the_result(value: Json, release: str) -> None:
    assert row(value).release == release
