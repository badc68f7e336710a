"""Metrics of a training, as values: which process reported what, and where in the training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Struct

_EVALUATION = late_pattern(r"(?:^|[^a-z])(?:val(?:id(?:ation)?)?|eval(?:uation)?|test)(?:[^a-z]|loss|$)")
"""`val_loss`, `eval/loss`, `loss_test`; not `value_loss` or `latest_loss`."""

Source = Literal["log", "trainerStatus", "tensorboard", "mlflow"]


class Point(Struct, frozen=True, array_like=True):
    """One value of a metric."""

    at: tuple[float, ...]
    """Where the training was, in the program's own counting: (step,), (epoch, step) or (epoch,)."""
    value: float | None
    """None if it is not finite: the training has diverged."""
    time: float | None = None
    """Seconds since 1970; None if unknown."""


class Series(Struct, frozen=True):
    """A metric in the course of the training, by one process."""

    name: str
    rank: int | None = None
    """The process that reported it; None for what is reported of the whole job."""
    source: Source = "log"
    is_counted: bool = False
    """Whether `at` is only the number of the report (1, 2, ...), because the program gave no step."""
    points: tuple[Point, ...] = ()

    @property
    def final(self) -> float | None:
        """The last value; None if it is not finite. Raises IndexError for a series without points."""
        return self.points[-1].value

    @property
    def title(self) -> str:
        """`loss (rank 0)`."""
        return self.name if self.rank is None else f"{self.name} (rank {self.rank})"


class Process(Struct, frozen=True):
    """What one process logged about its rank and the world size."""

    pod: str
    rank: int | None = None
    world_size: int | None = None


def leading(series: Sequence[Series]) -> Series | None:
    """The series that shows best how the training is going: by `place_of_metric`, of several the newest."""
    return min(
        (one for one in series if one.points),
        key=lambda one: (place_of_metric(one.name), -(one.points[-1].time or 0.0)),
        default=None,
    )


def place_of_metric(name: str) -> int:
    """Where a metric comes among others, by how well it shows how the training is going: 0 for a training loss, 1 for one of an
    evaluation, 2 for anything else."""
    if not is_loss(name):
        return 2
    return 0 if _EVALUATION.search(name) is None else 1


def is_loss(name: str) -> bool:
    """Whether the name contains `loss`, in lower case: `train_loss`, `val_loss`."""
    return "loss" in name


def seconds_a_step(points: Sequence[Point]) -> float | None:
    """Between the first and the last point; None if that is unknown: only one point, no times, or steps that do not increase."""
    if not points:
        return None
    first, last = points[0], points[-1]
    if first.time is None or last.time is None or len(first.at) != 1 or last.at[0] <= first.at[0]:
        return None
    return (last.time - first.time) / (last.at[0] - first.at[0])


def continued(points: Iterable[Point]) -> list[Point]:
    """The points in order. One of an earlier step (after a restart from a checkpoint) replaces all from there on. The positions
    of all have the same length."""
    points_so_far: list[Point] = []
    for point in points:
        while points_so_far and points_so_far[-1].at >= point.at:
            points_so_far.pop()
        points_so_far.append(point)
    return points_so_far


def extremes(values: Sequence[float | None]) -> Iterator[int]:
    """The positions of the smallest, the largest and the first non-finite value."""
    known = [(value, index) for index, value in enumerate(values) if value is not None]
    if known:
        yield min(known)[1]
        yield max(known)[1]
    yield from [index for index, value in enumerate(values) if value is None][:1]


def finite(value: float) -> float | None:
    """The value; None if it is not finite."""
    return value if math.isfinite(value) else None
