"""Views of core objects, and what is read from pods as JSON."""

from __future__ import annotations

import pytest

from shunter.api.core import container_statuses
from shunter.api.meta import Json


@pytest.mark.parametrize(
    ("status", "names"),
    [
        (None, []),
        ({"containerStatuses": None, "initContainerStatuses": None}, []),
        ({"containerStatuses": [{"name": "main"}], "initContainerStatuses": [{"name": "init"}]}, ["init", "main"]),
    ],
    ids=["no status", "null lists", "both"],
)
def test_container_statuses_are_those_of_init_containers_first(status: Json | None, names: list[str]) -> None:
    assert [one["name"] for one in container_statuses({"status": status})] == names
