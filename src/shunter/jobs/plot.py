"""Draws curves as text, with the dots of braille characters: two columns and four rows of them a character. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from shunter.jobs.curves import Curve, CurvePoint

DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bit of each dot of a braille character, by column and row from the top (Unicode, block Braille Patterns)."""
EMPTY = 0x2800
LABEL = 9
"""Characters before the vertical axis: `-1.235e+03`, shortened where it is longer."""
NARROWEST, LOWEST = 40, 3


def plotted(curves: Sequence[Curve], *, width: int, height: int) -> list[str]:
    """The curves, one over the other, as `height` lines of at most `width` characters (40 and 3 at least): at the left the
    greatest, the middle and the least value, below the ends of the axis. No lines where no value is a finite number."""
    points = [point for curve in curves for point in curve.points]
    values = [point.value for point in points if point.value is not None]
    if not values:
        return []
    columns, rows = max(width, NARROWEST) - LABEL - 2, max(height, LOWEST) - 1
    low, high = min(values), max(values)
    first, last = min(point.x for point in points), max(point.x for point in points)
    cells = [[EMPTY] * columns for _ in range(rows)]
    for curve in curves:
        for column, row in _dots(curve.points, (first, last), (low, high), 2 * columns - 1, 4 * rows - 1):
            cells[row // 4][column // 2] |= DOTS[column % 2][row % 4]
    labels = {0: high, rows - 1: low} if low < high else {}
    if rows > 2 or not labels:
        labels[rows // 2] = low / 2 + high / 2
    lines = [f"{_number(labels.get(row)):>{LABEL}} ┤{''.join(map(chr, line))}" for row, line in enumerate(cells)]
    begin, end = _number(first, 6), f"{curves[0].axis} {_number(last, 6)}"
    return [*lines, f"{'':{LABEL + 2}}{begin}{end:>{columns - len(begin)}}"]


def _dots(
    points: Sequence[CurvePoint], xs: tuple[float, float], values: tuple[float, float], width: int, height: int
) -> Iterator[tuple[int, int]]:
    """Column and row of every dot: each point, and the line to the next one, unless a value between is no finite number."""
    places = [
        None if point.value is None else (_scaled(point.x, *xs, width), height - _scaled(point.value, *values, height))
        for point in points
    ]
    yield from (place for place in places if place is not None)
    for one, other in pairwise(places):
        if one is not None and other is not None:
            steps = max(abs(other[0] - one[0]), abs(other[1] - one[1]))
            for step in range(1, steps):
                part = step / steps
                yield round(one[0] + (other[0] - one[0]) * part), round(one[1] + (other[1] - one[1]) * part)


def _scaled(value: float, least: float, greatest: float, size: int) -> int:
    """0 to `size`; the middle where there is but one value. Halves first: the difference of two great numbers may overflow."""
    spread = greatest / 2 - least / 2
    return round((value / 2 - least / 2) / spread * size) if spread > 0 and math.isfinite(spread) else size // 2


def _number(value: float | None, digits: int = 4) -> str:
    """In at most `LABEL` characters; empty for None."""
    if value is None:
        return ""
    return next(text for most in range(digits, 0, -1) if len(text := f"{value:.{most}g}") <= LABEL)
