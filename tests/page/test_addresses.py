"""What may stand in an address of the page."""

from __future__ import annotations

import pytest

from shunter.page.addresses import MOST_NAMESPACES, view_parameters
from shunter.page.guard import RefusedError


def query(count: int) -> str:
    return "&".join(["view=jobs", *(f"namespace=team-{number}" for number in range(count)), "namespace=team-0"])


def test_a_stream_is_of_no_more_namespaces_than_can_be_watched() -> None:
    assert len(view_parameters(query(MOST_NAMESPACES)).namespaces) == MOST_NAMESPACES
    with pytest.raises(RefusedError) as refused:
        view_parameters(query(MOST_NAMESPACES + 1))
    assert refused.value.refusal.status == 400
    assert "51 namespaces; at most 50" in refused.value.refusal.message
