"""A curve drawn as text keeps its extremes, its gaps and its size, whatever the values are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.jobs.curves import Curve, CurvePoint
from shunter.jobs.plot import plotted

BLANK = "\u2800"


def curve(*values: float | None, first: float = 0.0) -> Curve:
    return Curve("loss", 0, "log", "step", tuple(CurvePoint(first + x, value) for x, value in enumerate(values)))


def dots(lines: list[str]) -> set[tuple[int, int]]:
    """Column and row of every dot, by Unicode's numbering of them."""
    places = {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (1, 0), 4: (1, 1), 5: (1, 2), 6: (0, 3), 7: (1, 3)}
    found = set()
    for row, line in enumerate(lines):
        for column, one in enumerate(line.partition("\u2524")[2]):
            found |= {(2 * column + x, 4 * row + y) for bit, (x, y) in places.items() if (ord(one) - ord(BLANK)) >> bit & 1}
    return found


def test_two_values_are_a_straight_line() -> None:
    assert dots(plotted([curve(0.0, 1.0)], width=40, height=4)[:3]) == {(x, 11 - round(x * 11 / 57)) for x in range(58)}
    assert dots(plotted([curve(1.0, 0.0)], width=40, height=4)[:3]) == {(x, round(x * 11 / 57)) for x in range(58)}


@pytest.mark.parametrize("curves", [[], [curve(None, None)]], ids=["no curve", "no finite value"])
def test_nothing_is_drawn_of_nothing(curves: list[Curve]) -> None:
    assert plotted(curves, width=40, height=4) == []


def test_a_gap_is_left_where_a_value_is_not_finite() -> None:
    whole, broken = (plotted([curve(0.0, middle, 0.0)], width=40, height=4)[1] for middle in (0.0, None))
    assert BLANK not in whole.partition("┤")[2]
    assert broken.partition("┤")[2].count(BLANK) == len(broken.partition("┤")[2]) - 2


def test_the_axes_name_the_extremes() -> None:
    lines = plotted([curve(3.0, 1.0, 2.0, first=100.0), curve(4.0)], width=40, height=8)
    assert [line.partition("┤")[0].strip() for line in lines[:-1]] == ["4", "", "", "2.5", "", "", "1"]
    assert lines[-1].split() == ["0", "step", "102"]


def test_one_value_is_one_dot_in_the_middle() -> None:
    lines = plotted([curve(0.25)], width=30, height=4)
    assert [line.partition("┤")[0].strip() for line in lines[:3]] == ["", "0.25", ""]
    assert sum(bin(ord(dot) - 0x2800).count("1") for line in lines[:3] for dot in line.partition("┤")[2]) == 1


numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(numbers, min_size=1, max_size=50), st.floats(-1e300, 1e300), st.integers(1, 200), st.integers(1, 40))
def test_any_values_fit_into_any_size(values: list[float | None], first: float, width: int, height: int) -> None:
    lines = plotted([curve(*values, first=first)], width=width, height=height)
    assert len(lines) in (0, max(height, 3))
    assert all(len(line) <= max(width, 40) for line in lines)
    assert not lines or any("\u2800" < one <= "\u28ff" for line in lines for one in line)
