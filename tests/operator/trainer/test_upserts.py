"""Entries of lists that are there already give way to those of a plugin."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.upserts import upsert_port


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        ([], [29500]),
        ([{"name": "web", "containerPort": 80}], [80, 29500]),
        ([{"containerPort": 80}], [29500]),
        ([{"name": "master", "containerPort": 29500}, {"name": "web", "containerPort": 81}], [29500, 81]),
        ([{"containerPort": 80}, {"containerPort": 90}], [29500, 90]),
    ],
)
def test_the_first_port_of_its_number_or_without_a_name_gives_way(ports: list[Json], wanted: list[int]) -> None:
    container = {"ports": ports}
    upsert_port(container, {"containerPort": 29500})
    assert [port["containerPort"] for port in container["ports"]] == wanted
