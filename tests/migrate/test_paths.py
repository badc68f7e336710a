"""Where values stand in objects."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.migrate.paths import has_more_leaves, mappings


@pytest.mark.parametrize(
    ("value", "count"),
    [
        pytest.param("text", 1, id="a-text"),
        pytest.param({}, 1, id="an-empty-mapping"),
        pytest.param({"a": 1, "b": [2, 3]}, 3, id="a-list-in-a-mapping"),
        pytest.param([{"a": {}}, [], None], 3, id="what-is-empty"),
    ],
)
def test_leaves_are_counted(value: Any, count: int) -> None:
    assert has_more_leaves(value, count - 1)
    assert not has_more_leaves(value, count)


def test_mappings_come_with_their_paths_each_before_those_within_it() -> None:
    value = {"a": [{"b": {}}, "text"], "c": None}
    assert list(mappings(value, ("spec",))) == [
        (("spec",), value),
        (("spec", "a", 0), {"b": {}}),
        (("spec", "a", 0, "b"), {}),
    ]
