"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys

import pytest

from shunter.lazy_names import lazy_names


def test_a_name_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "shunter.did_you_mean", raising=False)
    found = lazy_names("shunter", {"nearest": "did_you_mean"})
    assert "shunter.did_you_mean" not in sys.modules
    assert found("nearest") is sys.modules["shunter.did_you_mean"].nearest


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'shunter' has no attribute 'other'"):
        lazy_names("shunter", {"nearest": "did_you_mean"})("other")
