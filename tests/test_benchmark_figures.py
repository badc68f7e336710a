"""Measurements: what a figure of `bench/figures.py` is made of, and that they start."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.integration
def test_the_measurements_start_as_they_are_called() -> None:
    """Outside of pytest, whose path has more directories."""
    found = subprocess.run([sys.executable, BENCH / "run.py", "--help"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
