"""Series of metrics: which of them leads, how fast the steps are, what a restart replaces."""

from __future__ import annotations

import pytest

from shunter.jobs.metrics import Point, Series, continued, extremes, leading, seconds_a_step


def series(name: str, *, time: float | None = None, points: int = 1) -> Series:
    return Series(name=name, points=tuple(Point((number,), 1.0, time) for number in range(points)))


@pytest.mark.parametrize(
    ("names", "lead"),
    [
        (["lr", "loss"], "loss"),
        (["val_loss", "train_loss", "accuracy"], "train_loss"),
        (["eval/loss", "loss"], "loss"),
        (["test_loss", "accuracy"], "test_loss"),
        (["validation_loss", "latest_loss"], "latest_loss"),
        (["loss_eval", "value_loss"], "value_loss"),
        (["accuracy"], "accuracy"),
    ],
)
def test_a_training_loss_leads_before_one_of_an_evaluation_and_other_metrics(names: list[str], lead: str) -> None:
    for order in (names, names[::-1]):
        found = leading([series(name) for name in order])
        assert found is not None
        assert found.name == lead


def test_of_equal_series_the_newest_leads_and_one_without_points_never() -> None:
    newest = leading([series("loss", time=1.0), series("loss", time=5.0), series("loss", time=None), series("loss", points=0)])
    assert newest is not None
    assert newest.points[-1].time == 5.0
    assert leading([series("loss", points=0)]) is None


@pytest.mark.parametrize(
    ("points", "seconds"),
    [
        ([], None),
        ([Point((1,), 0.0, 10.0)], None),
        ([Point((1,), 0.0, 10.0), Point((5,), 0.0, 18.0)], 2.0),
        ([Point((1,), 0.0, None), Point((5,), 0.0, 18.0)], None),
        ([Point((5,), 0.0, 10.0), Point((1,), 0.0, 18.0)], None),
        ([Point((1, 1), 0.0, 10.0), Point((1, 5), 0.0, 18.0)], None),
    ],
    ids=["none", "one", "two", "no time", "steps that fall", "steps of epochs"],
)
def test_seconds_a_step_are_known_from_two_steps_with_times(points: list[Point], seconds: float | None) -> None:
    assert seconds_a_step(points) == seconds


def test_a_restart_replaces_the_points_from_its_first_step_on() -> None:
    before = [Point((step,), 1.0) for step in (1, 2, 3)]
    after = [Point((step,), 2.0) for step in (2, 3, 4)]
    assert [(point.at[0], point.value) for point in continued([*before, *after])] == [(1, 1.0), (2, 2.0), (3, 2.0), (4, 2.0)]


def test_the_extremes_are_the_least_the_greatest_and_the_first_that_is_none() -> None:
    assert [*extremes([2.0, None, 1.0, 3.0, None])] == [2, 3, 1]
    assert [*extremes([])] == []
    assert [*extremes([None])] == [0]
