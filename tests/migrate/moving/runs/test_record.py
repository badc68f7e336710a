"""Runs kept in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.moving.runs.test_comparison import trained
from shunter.errors import InputError
from shunter.migrate.moving.runs.record import encoded, stored


def test_a_baseline_survives_its_file(tmp_path: Path) -> None:
    original = trained(2, [1.0, float("inf")], changed={"steps": "2"})
    file = tmp_path / "baseline.json"
    file.write_bytes(encoded(original))
    assert stored(file) == original


@pytest.mark.parametrize("content", ["", "[]", '{"format": "shunter.dev/run/v9"}', '{"pods": 3}'])
def test_a_file_that_holds_no_baseline_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"baseline\.json"):
        stored(file)
    with pytest.raises(InputError, match="no such file"):
        stored(tmp_path / "other.json")
