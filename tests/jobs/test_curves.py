"""Curves say where they are from, keep the extremes of what they leave out, and have a gap where a value is no number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_evidence import ago, v2_job
from shunter.jobs.curves import CurvePoint, curves, metric_names, reduced, with_report
from shunter.jobs.logs.metrics import log_report, metric_pattern
from shunter.jobs.metrics import Point, Series, Source, leading


def series(name: str = "loss", rank: int | None = 0, count: int = 3, source: Source = "log", **more: Any) -> Series:
    points = tuple(Point((float(step),), 1.0 / (step + 1)) for step in range(count))
    return Series(name=name, rank=rank, source=source, points=points, **more)


def reported(at: float, **metrics: Any) -> Any:
    values = [{"name": name, "value": str(value)} for name, value in metrics.items()]
    return v2_job(trainerStatus={"lastUpdatedTime": ago(at), "metrics": values})


def test_the_source_with_more_points_is_drawn_and_named() -> None:
    logged, status = series(count=30), series(rank=None, count=2, source="trainerStatus")
    assert [(one.source, one.rank) for one in curves([logged, status], "loss")] == [("log", 0)]
    assert [(one.source, one.rank) for one in curves([series(count=2), status], "loss")] == [("trainerStatus", None)]


def test_at_most_eight_curves_by_rank() -> None:
    assert [one.rank for one in curves([series(rank=rank) for rank in range(9, -1, -1)], "loss")] == list(range(8))


@pytest.mark.parametrize(
    ("lines", "axis", "xs"),
    [
        (["step 1 loss 3.0", "step 2 loss 2.0"], "step", [1.0, 2.0]),
        (["Epoch: [0][0/2] Loss 3.0", "Epoch: [0][1/2] Loss 2.0", "Epoch: [1][0/2] Loss 1.0"], "epoch", [0.0, 0.5, 1.0]),
        (["loss=3.0", "loss=2.0"], "report", [1.0, 2.0]),
        (["step 5 loss 3.0", "step 6 loss 2.0", "step 5 loss 2.5"], "step", [5.0]),
    ],
    ids=["steps", "epochs of steps", "no place", "a step done again"],
)
def test_the_axis(lines: list[str], axis: str, xs: list[float]) -> None:
    (curve,) = curves(log_report(lines, pod="p", rank=0).series, "loss")
    assert (curve.axis, [point.x for point in curve.points]) == (axis, xs)


def test_after_a_restart_from_a_checkpoint_the_lost_run_is_not_drawn() -> None:
    """Neither where the new run stands at other steps, nor at its end."""
    lost = ["step 0 loss 3.0", "step 10 loss 2.0", "step 20 loss 1.0", "step 30 loss 0.5"]
    (curve,) = curves(log_report([*lost, "step 10 loss 2.2", "step 15 loss 1.7"], pod="p", rank=0).series, "loss")
    assert [(point.x, point.value) for point in curve.points] == [(0.0, 3.0), (10.0, 2.2), (15.0, 1.7)]
    assert curve.points[-1].value == 1.7


def test_after_a_restart_in_an_earlier_epoch_the_lost_run_is_not_drawn() -> None:
    lost = ["Epoch: [0][0/2] Loss 3.0", "Epoch: [0][1/2] Loss 2.0", "Epoch: [1][1/2] Loss 1.0"]
    (curve,) = curves(log_report([*lost, "Epoch: [1][0/2] Loss 1.5"], pod="p", rank=0).series, "loss")
    assert [(point.x, point.value) for point in curve.points] == [(0.0, 3.0), (0.5, 2.0), (1.0, 1.5)]


def test_losses_are_offered_first_and_counts_not_at_all() -> None:
    line = "step 1 accuracy 0.5 seed=3 elapsed_time=4 val_loss=0.1 9.8it/s"
    assert metric_names(log_report([line], pod="p", rank=0).series) == ["val_loss", "accuracy", "throughput"]
    report = with_report((), reported(30, step=1, accuracy=0.5, seed=3, elapsed_time=4, val_loss=0.1))
    assert metric_names(report) == ["val_loss", "accuracy"]


def test_a_training_loss_comes_before_that_of_an_evaluation_as_in_what_shows_the_progress() -> None:
    found = log_report(["step 1 accuracy 0.5 eval_loss=2.0 train_loss=1.0"], pod="p", rank=0).series
    assert metric_names(found) == ["train_loss", "eval_loss", "accuracy"]
    first = leading(found)
    assert first is not None
    assert first.name == "train_loss"


def test_what_was_found_as_a_metric_is_drawn_whatever_its_name() -> None:
    """A name looks like no metric, and a pattern of the user finds it, or it is named as an error."""
    asked = metric_pattern("gpu_util=util ([0-9]+)")
    found = log_report(["step 1 util 80 time_error 0.5", "step 2 util 90 time_error 0.4"], pod="p", rank=0, extra=[asked]).series
    assert metric_names(found) == ["time_error", "gpu_util"]
    assert [[point.value for point in one.points] for one in curves(found, "gpu_util")] == [[80, 90]]
    assert len(curves(found, "time_error")) == 1


def test_reports_are_kept_as_they_come() -> None:
    seen = with_report((), reported(30, step=10, loss=3.0, **{"checkpoint.step": 5}))
    seen = with_report(seen, reported(30, step=10, loss=3.0))
    seen = with_report(seen, reported(20, step=20, loss=2.0))
    assert [(one.name, [point.at[0] for point in one.points]) for one in seen] == [("loss", [10.0, 20.0])]
    again = with_report(seen, reported(10, step=15, loss=2.5))
    assert [(point.at[0], point.value) for point in again[0].points] == [(10.0, 3.0), (15.0, 2.5)]


def test_reports_without_a_step_are_counted() -> None:
    seen = with_report(with_report((), reported(30, loss=3.0)), reported(20, loss="nan"))
    assert seen[0].is_counted
    assert [(point.at, point.value) for point in seen[0].points] == [((1.0,), 3.0), ((2.0,), None)]


@pytest.mark.parametrize("more", [{"step": 11, "loss": 3.0}, {"step": 10, "loss": 2.0}], ids=["another step", "another value"])
def test_two_reports_in_one_second_are_two(more: dict[str, Any]) -> None:
    first, second = reported(30, step=10, loss=3.0), reported(30, **more)
    second["status"]["trainerStatus"]["lastUpdatedTime"] = first["status"]["trainerStatus"]["lastUpdatedTime"]
    (seen,) = with_report(with_report((), first), second)
    assert (seen.points[-1].at, seen.final) == ((float(more["step"]),), more["loss"])


def test_two_counted_reports_in_one_second_are_two() -> None:
    first, second = reported(30, loss=3.0), reported(30, loss=2.0)
    second["status"]["trainerStatus"]["lastUpdatedTime"] = first["status"]["trainerStatus"]["lastUpdatedTime"]
    (seen,) = with_report(with_report(with_report((), first), second), second)
    assert [point.value for point in seen.points] == [3.0, 2.0]


values = st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), max_size=400)


@given(values, st.integers(5, 60))
def test_reducing_keeps_the_ends_the_extremes_and_the_order(drawn: list[float | None], most: int) -> None:
    points = [CurvePoint(float(x), value) for x, value in enumerate(drawn)]
    kept = reduced(points, most)
    known, kept_values = [one for one in drawn if one is not None], [point.value for point in kept]
    assert len(kept) <= most
    assert [point.x for point in kept] == sorted({point.x for point in kept})
    assert set(kept) <= set(points)
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
    if known:
        assert min(known) in kept_values
        assert max(known) in kept_values
    assert (None in kept_values) == (None in drawn)
