"""Metrics of a training, as values: which process reported what, and where in the training."""

from __future__ import annotations

import math
from typing import Literal

from shunter.api.meta import Struct

Source = Literal["log", "trainerStatus", "tensorboard", "mlflow"]


class Point(Struct, frozen=True, array_like=True):
    """One value of a metric."""

    at: tuple[float, ...]
    """Where the training was, in the program's own counting: (step,), (epoch, step) or (epoch,)."""
    value: float | None
    """None for what is no finite number: the training has diverged."""
    time: float | None = None
    """Seconds since 1970; None when nobody noted it."""


class Series(Struct, frozen=True):
    """A metric in the course of the training, by one process."""

    name: str
    rank: int | None = None
    """The process that reported it; None for what is reported of the whole job."""
    source: Source = "log"
    is_counted: bool = False
    """Whether `at` is but the number of the report (1, 2, ...), because the program named no step with it."""
    points: tuple[Point, ...] = ()

    @property
    def final(self) -> float | None:
        return self.points[-1].value

    @property
    def title(self) -> str:
        """`loss (rank 0)`."""
        return self.name if self.rank is None else f"{self.name} (rank {self.rank})"


class Process(Struct, frozen=True):
    """What one process said of its place among the others."""

    pod: str
    rank: int | None = None
    world_size: int | None = None


def finite(value: float) -> float | None:
    """The value; None for what is no finite number."""
    return value if math.isfinite(value) else None
