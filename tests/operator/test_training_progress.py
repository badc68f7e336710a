"""What is read from the reports of a program, and what they warn of."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.meta import Json, rfc3339
from shunter.operator.training_progress import Checkpoint, Progress, progress, warnings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def job(metrics: dict[str, str] | None = None, *, silent: float = 0, **fields: Any) -> Json:
    """A TrainJob whose program reported this, so many seconds before noon."""
    told = [{"name": name, "value": value} for name, value in (metrics or {}).items()]
    reported = rfc3339(NOON - timedelta(seconds=silent))
    return {"kind": "TrainJob", "status": {"trainerStatus": {"metrics": told, "lastUpdatedTime": reported} | fields}}


@pytest.mark.parametrize("seconds", [10**12, 10**308], ids=["beyond the calendar", "beyond a timedelta"])
def test_a_training_that_ends_after_the_last_year_ends_at_no_time(seconds: int) -> None:
    read = Progress(NOON, remaining_seconds=seconds)
    assert (read.ends, read.remaining(NOON)) == (None, None)
    assert Progress(NOON, remaining_seconds=60).ends == NOON + timedelta(minutes=1)


def pod(grace: int | None = None) -> Json:
    return {"spec": {} if grace is None else {"terminationGracePeriodSeconds": grace}}


def test_a_job_whose_program_reports_nothing_has_no_progress() -> None:
    assert progress({"kind": "TrainJob", "status": {}}) is None
    assert progress({"kind": "PyTorchJob"}) is None


def test_everything_that_is_understood_is_read() -> None:
    said = {
        "step": "120", "steps": "300", "loss": "1.26", "accuracy": "0.9",
        "checkpoint.step": "100", "checkpoint.time": str(NOON.timestamp() - 12), "checkpoint.seconds": "1.5",
        "checkpoint.every": "50",
    }  # fmt: skip
    checkpoint = Checkpoint(step=100, saved=NOON - timedelta(seconds=12), seconds=1.5, every=50)
    read = progress(job(said, silent=10, progressPercentage=40, estimatedRemainingSeconds=51))
    assert read == Progress(NOON - timedelta(seconds=10), 40, 51, 120, 300, 1.26, checkpoint)
    assert read.remaining(NOON) == timedelta(seconds=41)


def test_a_report_of_the_last_day_of_the_calendar_is_shown() -> None:
    read = progress(job({"step": "1"}, lastUpdatedTime="9999-12-31T23:59:59Z", estimatedRemainingSeconds=60))
    assert read is not None
    assert (read.step, read.ends, read.remaining(NOON), read.stale_after) == (1, None, None, None)


@given(st.dictionaries(st.sampled_from(["step", "steps", "loss", *(f"checkpoint.{name}" for name in ("step", "time", "seconds", "every"))]), st.text(max_size=64)))  # fmt: skip  # noqa: E501
def test_values_that_are_no_numbers_are_passed_over(metrics: dict[str, str]) -> None:
    read = progress(job(metrics))
    assert read is not None
    assert warnings(read, [pod()], NOON) is not None


@pytest.mark.parametrize("value", ["half", "", "1.5", "inf", "nan"])
def test_a_step_is_a_whole_number(value: str) -> None:
    read = progress(job({"step": value}))
    assert read is not None
    assert read.step is None


def test_a_loss_that_is_no_number_any_more_is_shown() -> None:
    read = progress(job({"loss": "nan"}))
    assert read is not None
    assert read.loss is not None
    assert math.isnan(read.loss)


WARNED = {
    "a program that has been silent for long": (job(silent=900), [], "has not reported for 15 minutes"),
    "a checkpoint that is four intervals old": (
        job({"step": "251", "checkpoint.step": "50", "checkpoint.every": "50"}),
        [],
        "201 steps ago, although one is saved every 50",
    ),
    "a save longer than half of the grace period": (
        job({"checkpoint.step": "50", "checkpoint.seconds": "16"}), [pod(120), pod()], "took 16 s, more than half .* of 30 s"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said", "pods", "words"), WARNED.values(), ids=WARNED)
def test_what_may_cost_work_is_a_warning(said: Json, pods: list[Json], words: str) -> None:
    read = progress(said)
    assert read is not None
    (warning,) = warnings(read, pods, NOON)
    assert re.search(words, warning)


FINE = {
    "a report of a moment ago": (job({"step": "1"}, silent=30), [pod()]),
    "a checkpoint under way": (job({"step": "200", "checkpoint.step": "50", "checkpoint.every": "50"}), [pod()]),
    "a save that fits": (job({"checkpoint.step": "50", "checkpoint.seconds": "15"}), [pod()]),
    "a save of deleted pods": (job({"checkpoint.step": "50", "checkpoint.seconds": "99"}), []),
    "no word of an interval": (job({"step": "9000", "checkpoint.step": "50"}), [pod()]),
}


@pytest.mark.parametrize(("said", "pods"), FINE.values(), ids=FINE)
def test_what_is_usual_is_none(said: Json, pods: list[Json]) -> None:
    read = progress(said)
    assert read is not None
    assert warnings(read, pods, NOON) == []
