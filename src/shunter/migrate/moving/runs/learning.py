"""Pairs the metrics of two runs: the same metric of the same process at the same step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shunter.jobs.logs.metrics import RATE
from shunter.jobs.metrics import Point, Series
from shunter.migrate.moving.runs.integrity import grouping
from shunter.migrate.moving.runs.record import Run


class Pair(NamedTuple):
    """One value of both runs. Values are 0 where `is_finite` is false."""

    where: str
    """`step 12 of rank 0`."""
    values: tuple[float, float]
    is_finite: bool
    is_equal: bool

    @property
    def shown(self) -> str:
        """`0.125 and 0.13`, with ten digits at most."""
        return f"{self.values[0]:.10g} and {self.values[1]:.10g}" if self.is_finite else "one is no finite number"

    @property
    def deviation(self) -> str:
        """`0.005 apart (3.85%)`, where the share is of the greater value; `diverged` where one is no finite number."""
        if not self.is_finite:
            return "diverged"
        difference = abs(self.values[0] - self.values[1])
        size = max(map(abs, self.values))
        return f"{difference:.3g} apart ({difference / size:.2%})" if size else "0 apart"


class Part(NamedTuple):
    """One comparison of a metric: its first steps, or its end."""

    name: str
    original: str
    successor: str
    pairs: tuple[Pair, ...] = ()
    obstacle: str = ""
    """Why the values cannot be compared."""
    mismatch: str = ""
    """Why they differ, regardless of the values."""


def learning(original: Run, successor: Run, first_steps: int) -> Iterator[Part]:
    """For each metric that both report: its first steps, if both have steps, and its end."""
    for name in dict.fromkeys(series.name for series in original.series if series.name != RATE):
        series_pairs = list(_series_pairs(original, successor, name))
        if not series_pairs:
            continue
        stepped = [pair for pair in series_pairs if not pair[0].is_counted and not pair[1].is_counted]
        if stepped:
            yield _first_steps(name, stepped, first_steps)
        yield _final(name, original, successor, series_pairs)


def missing_ranks(original: Run, successor: Run) -> Iterator[tuple[str, tuple[set[int], set[int]]]]:
    """For each metric that ranks of both runs report: those that do so in the original only, and in the successor only."""
    for name in dict.fromkeys(series.name for series in original.series if series.name != RATE):
        ours, theirs = (
            {series.rank for series in run.series if series.name == name and series.rank is not None}
            for run in (original, successor)
        )
        if ours and theirs and ours != theirs:
            yield name, (ours - theirs, theirs - ours)


def _series_pairs(original: Run, successor: Run, name: str) -> Iterator[tuple[Series, Series]]:
    """Series of both runs by the same process, from the same source if there is one; else the first of each."""
    ours = [series for series in original.series if series.name == name]
    theirs = [series for series in successor.series if series.name == name]
    found: dict[tuple[int | None, str, bool], tuple[Series, Series]] = {}
    for one in ours:
        key = (one.rank, one.source, one.is_counted)
        other = next((other for other in theirs if key == (other.rank, other.source, other.is_counted)), None)
        if other is not None:
            found.setdefault(key, (one, other))
    if found:
        yield from found.values()
    elif ours and theirs:
        yield ours[0], theirs[0]


def _first_steps(name: str, series_pairs: list[tuple[Series, Series]], first_steps: int) -> Part:
    pairs: list[Pair] = []
    starts: list[tuple[Series, Point, Point]] = []
    for one, other in series_pairs:
        known = {point.at: point for point in other.points}
        common = [point for point in one.points if point.at in known][:first_steps]
        pairs += [_pair(one, point, known[point.at]) for point in common]
        starts += [(one, point, known[point.at]) for point in common[:1]]
    title = f"first steps of {name}"
    if not starts:
        one, other = series_pairs[0]
        begins = _value(one.points[0].value), _value(other.points[0].value)
        return Part(title, *begins, obstacle="they have no step in common")
    counted = f"{len(pairs)} values" if len(series_pairs) == 1 else f"{len(pairs)} values of {len(series_pairs)} processes"
    if any(one.points[0].at != other.points[0].at for one, other in series_pairs):
        # A log that was rotated, or a run that continued: one of them does not begin here.
        counted += f" from {_step(*starts[0][:2])}"
    shown = _value(starts[0][1].value), _value(starts[0][2].value)
    return Part(title, f"{shown[0]}, ... {counted}", f"{shown[1]}, ...", tuple(pairs))


def _final(name: str, original: Run, successor: Run, series_pairs: list[tuple[Series, Series]]) -> Part:
    shown = _value(series_pairs[0][0].final), _value(series_pairs[0][1].final)
    title = f"final {name}"
    for one, other in series_pairs:
        if one.points[-1].at == other.points[-1].at or (one.source != other.source and (one.is_counted or other.is_counted)):
            continue
        ends = f"one ends at {_step(one, one.points[-1])}, the other at {_step(other, other.points[-1])}"
        if one.source != other.source:
            return Part(title, *shown, obstacle=f"{ends}, and they come from different sources; choose one with --metric")
        if original.changed or successor.changed or original.moved:
            return Part(title, *shown, obstacle=f"{ends}, on purpose")
        if not (original.is_finished and successor.is_finished):
            return Part(title, *shown, obstacle=ends)
        return Part(title, *shown, mismatch=ends)
    if one_world := _silent_ranks(original, successor, name):
        return Part(title, *shown, mismatch=one_world)
    return Part(title, *shown, tuple(_pair(one, one.points[-1], other.points[-1]) for one, other in series_pairs))


def _silent_ranks(original: Run, successor: Run, name: str) -> str:
    """Why there are several models instead of one: more processes report a metric as rank 0 than before; else empty."""
    counts = [sum(series.name == name and series.rank == 0 for series in run.series) for run in (original, successor)]
    groups = grouping(successor).groups or 0
    return f"{counts[1]} processes report it as rank 0, not {counts[0]}" if counts[1] > counts[0] and groups > 1 else ""


def _pair(series: Series, one: Point, other: Point) -> Pair:
    where = _step(series, one) + (f" of rank {series.rank}" if series.rank is not None else "")
    if one.value is None or other.value is None:
        return Pair(where, (0.0, 0.0), False, one.value == other.value)
    return Pair(where, (one.value, other.value), True, one.value == other.value)


def _step(series: Series, point: Point) -> str:
    where = ".".join(f"{part:g}" for part in point.at)
    return f"report {where}" if series.is_counted else f"step {where}"


def _value(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.6g}"
