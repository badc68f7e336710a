"""A measured figure, its limit, and tables of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Limit(NamedTuple):
    """What is good enough: `below` it, or `at_least` it."""

    value: float
    is_upper: bool
    why: str

    def holds(self, value: float) -> bool:
        return value < self.value if self.is_upper else value >= self.value

    def __str__(self) -> str:
        return f"{'<' if self.is_upper else '>='} {self.value:g}"


class Figure(NamedTuple):
    """One number with its unit; `note` says what else is worth knowing, e.g. the spread."""

    name: str
    value: float
    unit: str
    note: str = ""


class Judged(NamedTuple):
    """A figure beside its limit, if it has one."""

    measurement: str
    figure: Figure
    limit: Limit | None

    @property
    def is_good(self) -> bool:
        return self.limit is None or self.limit.holds(self.figure.value)

    def cells(self) -> tuple[str, ...]:
        figure = self.figure
        verdict = "" if self.limit is None else "yes" if self.is_good else "NO"
        wanted = "" if self.limit is None else str(self.limit)
        return (self.measurement, figure.name, f"{shown(figure.value)} {figure.unit}", wanted, verdict, figure.note)


HEADINGS = ("measurement", "figure", "value", "wanted", "met", "note")


def limits(settings: dict[str, object]) -> dict[str, Limit]:
    """The limits of one measurement as loads.yaml states them."""
    found = {}
    stated = settings.get("limits", {})
    assert isinstance(stated, dict)
    for name, limit in stated.items():
        is_upper = "below" in limit
        found[name] = Limit(float(limit["below" if is_upper else "at_least"]), is_upper, limit["why"])
    return found


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed (nearest rank); `share` in (0, 1]."""
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * share) - 1]


def spread(values: Sequence[float]) -> str:
    """From the smallest to the largest, for the note of a figure."""
    return f"{shown(min(values))} to {shown(max(values))}"


def text_table(rows: Sequence[Judged]) -> str:
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells)


def markdown_table(rows: Sequence[Judged]) -> str:
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: float) -> str:
    """Three significant digits, thousands separated, whole numbers from a thousand on."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
