"""How many pods more, or fewer available ones, a rollout may have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.api.apps import Deployment
from shunter.cluster.controllers.deployment.bounds import max_surge, max_unavailable


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "bounds"),
    [
        (10, "25%", "25%", (3, 2)),
        (3, "25%", "25%", (1, 0)),
        (10, 0, 3, (0, 3)),
        (10, 0, "1%", (0, 1)),
        (10, "0%", 0, (0, 1)),
        (2, 5, 5, (5, 2)),
        (0, "50%", "50%", (0, 0)),
        (1, "100%", "100%", (1, 1)),
    ],
)
def test_surge_rounds_up_and_unavailable_down_and_one_of_them_is_more_than_none(
    replicas: int, surge: Any, unavailable: Any, bounds: tuple[int, int]
) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    deployment = msgspec.convert({"metadata": {"name": "x"}, "spec": {"replicas": replicas, "strategy": strategy}}, Deployment)
    assert (max_surge(deployment), max_unavailable(deployment)) == bounds


def test_recreate_has_no_bounds() -> None:
    deployment = msgspec.convert(
        {"metadata": {"name": "x"}, "spec": {"replicas": 3, "strategy": {"type": "Recreate"}}}, Deployment
    )
    assert (max_surge(deployment), max_unavailable(deployment)) == (0, 0)
