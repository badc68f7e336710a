"""Whether an API server serves a definition."""

from __future__ import annotations

import pytest

from shunter.api.crds.established import is_established
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("status", "established"),
    [
        (None, False),
        ({"conditions": None}, False),
        ({"conditions": [{"type": "NamesAccepted", "status": "True"}]}, False),
        ({"conditions": [{"type": "Established", "status": "False"}]}, False),
        ({"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]}, True),
    ],
)
def test_a_definition_is_served_once_its_status_says_so(status: Json | None, *, established: bool) -> None:
    assert is_established({} if status is None else {"status": status}) is established
