"""Numbers given as such or as a percentage."""

from __future__ import annotations

import pytest

from shunter.cluster.controllers.workloads.shares import share


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [
        (3, True, 3),
        ("25%", True, 3),
        ("25%", False, 2),
        ("3", True, 0),
        ("²%", True, 0),
        ("٣%", True, 0),
        ("9" * 5000 + "%", True, 0),
    ],
)
def test_only_ascii_percentages_count(value: int | str, up: bool, expected: int) -> None:
    assert share(value, 10, up=up) == expected
