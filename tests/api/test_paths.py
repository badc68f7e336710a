"""The value at a path of an object."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.paths import MISSING, Path, value_at

OBJECT = {"spec": {"items": [{"name": "a"}, None], "none": None, "text": "abc"}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), OBJECT),
        (("spec", "items", 0, "name"), "a"),
        (("spec", "none"), None),
        (("spec", "items", 1), None),
        (("spec", "other"), MISSING),
        (("spec", "items", 2), MISSING),
        (("spec", "items", -3), MISSING),
        (("spec", "items", "0"), MISSING),
        (("spec", "none", "x"), MISSING),
        (("spec", "text", 0), MISSING),
    ],
)
def test_a_path_leads_to_a_value_or_nowhere(path: Path, value: Any) -> None:
    assert value_at(OBJECT, path) is value
