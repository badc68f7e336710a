"""`bench/figures.py`: what a measured figure is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the command, which is no part of the package."""
    monkeypatch.syspath_prepend(str(BENCH))
    import figures

    return figures


@pytest.mark.parametrize(
    ("number", "share", "value"),
    [(100, 0.99, 99), (100, 1, 100), (100, 0.5, 50), (1000, 0.99, 990), (3, 0.5, 2), (3, 0.99, 3), (1, 0.99, 1), (20, 0.99, 20)],
)
def test_a_percentile_is_the_smallest_value_that_so_many_stay_within(figures: Any, number: int, share: float, value: int) -> None:
    assert figures.percentile(range(number, 0, -1), share) == value


def test_a_spread_is_said_in_three_digits(figures: Any) -> None:
    assert figures.spread([1.2345, 0.5, 12.3456]) == "0.5 to 12.3"
