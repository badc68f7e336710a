"""The metrics of a job as curves: from its program's reports (`status.trainerStatus`) or from logs, whichever has more. Pure.

A TrainJob's status has only the last values, which `with_report` collects while a job is watched. Logs contain the whole
training, as far as they are kept. `Curve.source` is which of the two a curve comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from shunter.api.meta import Json, Struct
from shunter.jobs.logs.metrics import RATE
from shunter.jobs.metrics import Point, Series, Source, continued, extremes, finite, place_of_metric
from shunter.operator.overview import moment
from shunter.operator.program_logs.patterns import NOT_METRICS
from shunter.operator.training_progress import reported_metrics

MOST_POINTS = 2000
"""The most points of a curve: a screen has no more columns."""
MOST_CURVES = 8
"""The most curves of one metric: more cannot be distinguished."""


class CurvePoint(Struct, frozen=True, array_like=True):
    """One value: [x, value, time]."""

    x: float
    value: float | None
    """None if it is not finite: the curve has a gap there."""
    time: float | None = None
    """Seconds since 1970; None if unknown."""


class Curve(Struct, frozen=True):
    """One metric of one process (of the whole job with rank None) in the course of the training."""

    name: str
    rank: int | None
    source: Source
    axis: Literal["step", "epoch", "report"]
    """What `x` counts; reports where the program names no step."""
    points: tuple[CurvePoint, ...]


def metric_names(series: Iterable[Series]) -> list[str]:
    """The metrics that a curve may be drawn of: by `place_of_metric`, otherwise as they were found. The first is shown unless
    another is chosen."""
    found = dict.fromkeys(one.name for one in series if one.points)
    return sorted(found, key=lambda name: (place_of_metric(name), name == RATE))


def curves(series: Iterable[Series], name: str) -> list[Curve]:
    """The curves of one metric, by rank, at most `MOST_CURVES` of at most `MOST_POINTS` points each. All are from one source: the
    one whose longest series has more points, reports where both have as many."""
    named = [one for one in series if one.name == name and one.points]
    longest: dict[Source, int] = {}
    for one in named:
        longest[one.source] = max(longest.get(one.source, 0), len(one.points))
    source = max(longest, key=lambda each: (longest[each], each != "log"), default=None)
    chosen = sorted((one for one in named if one.source == source), key=lambda one: (one.rank is not None, one.rank or 0))
    found = (_curve(one) for one in _longest_of_each_rank(chosen))
    return [curve for curve in found if curve.points][:MOST_CURVES]


def with_report(series: Sequence[Series], job: Json) -> tuple[Series, ...]:
    """The series, continued by the report in the job's status. A report that they already have adds nothing; one of an earlier
    step (after a restart) replaces those from there on."""
    reported = reported_metrics(job)
    time = moment((job.get("status", {}).get("trainerStatus") or {}).get("lastUpdatedTime"))
    at = reported.get("step")
    is_counted = at is None or finite(at) is None
    by_name = {one.name: one for one in series}
    for name, value in reported.items():
        if NOT_METRICS.search(name) or name.startswith("checkpoint."):
            continue
        before = by_name.get(name)
        points = before.points if before is not None and before.is_counted == is_counted else ()
        stamp = time.timestamp() if time else None
        x = float(len(points) + 1) if at is None or is_counted else at
        point = Point((x,), finite(value), stamp)
        if points and _is_same_report(points[-1], point, is_counted=is_counted):
            continue
        merged = tuple(continued((*points, point)))
        by_name[name] = Series(name=name, source="trainerStatus", is_counted=is_counted, points=merged)
    return tuple(by_name.values())


def _is_same_report(last: Point, point: Point, *, is_counted: bool) -> bool:
    """Whether both are the same report. Times have whole seconds, and several reports fit into one."""
    return (last.time, last.value) == (point.time, point.value) and (is_counted or last.at == point.at)


def reduced(points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """At most so many (5 or more) of the points, in order: the first, the last, and the extremes of each stretch between, so that
    what is drawn looks as all of them do. A stretch with a value that is no finite number keeps one such."""
    if len(points) <= most:
        return list(points)
    stretches = max((most - 2) // 3, 1)
    inner = points[1:-1]
    kept = [points[0]]
    for number in range(stretches):
        stretch = inner[number * len(inner) // stretches : (number + 1) * len(inner) // stretches]
        kept += [stretch[index] for index in sorted(set(extremes([point.value for point in stretch])))]
    return [*kept, points[-1]]


def _curve(series: Series) -> Curve:
    widest = max(len(point.at) for point in series.points)
    placed = [point for point in series.points if len(point.at) == widest and all(map(math.isfinite, point.at))]
    steps = max((point.at[-1] for point in placed), default=0.0) + 1
    points = [CurvePoint(_x(point, widest, steps), point.value, point.time) for point in continued(placed)]
    axis: Literal["step", "epoch", "report"] = "report" if series.is_counted else "epoch" if widest > 1 else "step"
    return Curve(series.name, series.rank, series.source, axis, tuple(reduced(points, MOST_POINTS)))


def _x(point: Point, widest: int, steps: float) -> float:
    """The step, or the epoch with the fraction of it that is done."""
    return point.at[0] if widest == 1 else point.at[0] + point.at[1] / steps


def _longest_of_each_rank(series: Iterable[Series]) -> Iterator[Series]:
    """The longest series of each rank: a process may write a metric with steps and without."""
    longest: dict[int | None, Series] = {}
    for one in series:
        if one.rank not in longest or len(one.points) > len(longest[one.rank].points):
            longest[one.rank] = one
    yield from longest.values()
