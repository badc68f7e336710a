"""What a node has left for more pods."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.scheduler.resources import available, take


def pod(**requests: str) -> SchedulablePod:
    container = {"name": "c", "resources": {"requests": requests}}
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": [container]}}, SchedulablePod)


NODE = msgspec.convert({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3"}}}, Node)


def test_pods_take_what_they_request_and_a_place_each() -> None:
    assert available(NODE, [pod(cpu="500m"), pod(cpu="250m", memory="1Mi")]) == {
        "cpu": Fraction(5, 4),
        "memory": 2**30 - 2**20,
        "pods": 1,
    }


def test_a_node_may_be_overcommitted_also_in_what_it_does_not_have() -> None:
    rest = available(NODE, [pod(cpu="3")])
    take(rest, {"nvidia.com/gpu": Fraction(1)})
    assert rest == {"cpu": -1, "memory": 2**30, "nvidia.com/gpu": -1, "pods": 1}
