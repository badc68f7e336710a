"""What belongs together, in lists."""

from __future__ import annotations

from shunter.api.grouping import grouped_by


def test_groups_and_their_values_stay_in_order() -> None:
    groups = grouped_by(["bert", "ant", "bee", "asp"], lambda name: name[0])
    assert list(groups.items()) == [("b", ["bert", "bee"]), ("a", ["ant", "asp"])]
    assert grouped_by([], len) == {}
