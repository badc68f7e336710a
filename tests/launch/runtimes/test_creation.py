"""Runtimes that runtime create refuses."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.errors import InputError
from shunter.launch.runtimes.creation import RuntimeOptions

RUNTIMES: dict[str, tuple[dict[str, Any], str]] = {
    "one that is the same": ({}, "would equal the one that it is copied from"),
    "no network": ({"fabric": "none"}, "would equal"),
    "a profile that is none": ({"fabric": "eva"}, "--fabric eva: unknown profile"),
    "restarts below none": ({"restarts": -1}, "--restarts is -1"),
    "no name": ({"name": "A b", "restarts": 1}, "'A b' is not a valid runtime name: a lowercase RFC 1123"),
}


@pytest.mark.parametrize(("fields", "message"), RUNTIMES.values(), ids=RUNTIMES)
def test_runtimes_that_cannot_be_meant(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RuntimeOptions(**{"name": "fast", **fields})
