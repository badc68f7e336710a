"""Published measurements: the error of each is pinned, so that a change of a formula shows as a change of the table."""

from __future__ import annotations

from collections import Counter

import pytest

from sizing.measured import Measurement, measurements, sources

ROWS = measurements()


@pytest.mark.parametrize("one", ROWS, ids=lambda one: one.row["name"])
def test_the_error_is_the_one_that_is_published(one: Measurement) -> None:
    assert one.error == one.row.get("error")


@pytest.mark.parametrize("one", [one for one in ROWS if one.verdict], ids=lambda one: one.row["name"])
def test_the_verdict_is_the_one_that_is_published(one: Measurement) -> None:
    assert one.verdict == one.row["verdict"]


def test_what_is_said_to_fit_has_run() -> None:
    fits = Counter(one.row["ran"] for one in ROWS if one.verdict == "fits")
    assert fits[False] == 0
    assert fits[True] >= 20


def test_what_is_said_not_to_fit_has_not_run() -> None:
    assert not [one.row["name"] for one in ROWS if one.verdict == "no" and one.row["ran"]]


def test_no_run_with_pipeline_parallelism_is_judged() -> None:
    staged = [one for one in ROWS if one.row["options"].get("pp", 1) > 1]
    assert staged
    assert {one.verdict for one in staged} == {"unknown"}


def test_most_measurements_were_not_fitted_on() -> None:
    held_out = [one for one in ROWS if not one.row.get("fitted")]
    assert len(held_out) >= 40
    assert len({one.row["source"] for one in held_out}) >= 5


def test_every_row_has_a_source_with_a_date() -> None:
    assert {one.row["source"] for one in ROWS} == set(sources())
    assert all(source["where"] and source["date"] for source in sources().values())
