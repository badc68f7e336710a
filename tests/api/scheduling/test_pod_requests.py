"""What a pod asks of a node, what a group of pods asks for, and what counts as a GPU."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import PodRequests, allocatable, gpus_of, is_gpu, may_overcommit, requested, total


def one(cpu: str, **more: Any) -> Json:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


def pod(*containers: Json, init: tuple[Json, ...] = (), **more: Any) -> PodRequests:
    return msgspec.convert({"containers": containers, "initContainers": init, **more}, PodRequests)


SIDECAR = one("2", restartPolicy="Always")


@pytest.mark.parametrize(
    ("asking", "cpus"),
    [
        pytest.param(pod(one("4"), one("500m")), "4.5", id="containers run together"),
        pytest.param(pod(one("4"), init=(one("1"),)), "4", id="an init container has ended before they start"),
        pytest.param(pod(one("4"), init=(one("5"), one("3"))), "5", id="the largest init container counts if it is larger"),
        pytest.param(pod(one("4"), init=(SIDECAR,)), "6", id="a sidecar runs beside the containers"),
        pytest.param(pod(one("1"), init=(SIDECAR, one("5"))), "7", id="and beside init containers after it"),
        pytest.param(pod(one("1"), init=(one("5"), SIDECAR)), "5", id="but not beside those before it"),
        pytest.param(pod(one("1"), overhead={"cpu": "100m"}), "1.1", id="the overhead of a runtime class is added"),
        pytest.param(pod(one("1"), resources={"requests": {"cpu": "3"}}), "3", id="the pod's own request goes before both"),
    ],
)
def test_a_pod_requests_the_most_that_it_needs_at_one_time(asking: PodRequests, cpus: str) -> None:
    assert requested(asking) == {"cpu": Fraction(cpus)}


def test_a_pod_as_a_whole_requests_no_devices() -> None:
    assert requested(pod(one("1"), resources={"requests": {"nvidia.com/gpu": "1"}})) == {"cpu": 1}


def test_a_request_that_is_no_quantity_is_an_error() -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        requested(pod(one("much")))


def test_pods_together_request_the_sum_in_the_units_of_the_first() -> None:
    memory = {"name": "m", "resources": {"requests": {"memory": "1Gi"}}}
    assert total([(pod(one("500m"), memory), 3), (pod(one("1")), 1)]) == {"cpu": "2500m", "memory": "3Gi"}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("gpu.intel.com/i915", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("google.com/tpu", True),
        ("nvidia.com/gpumem", False),
        ("gpu.intel.com/millicores", False),
        ("cpu", False),
        ("vpc.amazonaws.com/efa", False),
    ],
)
def test_a_gpu_is_known_by_the_name_of_its_resource(name: str, is_one: bool) -> None:
    assert is_gpu(name) is is_one


@pytest.mark.parametrize(
    ("resources", "count"),
    [
        ({"limits": {"nvidia.com/gpu": 2, "cpu": 8}}, 2),
        ({"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": "2"}}, 2),
        ({"requests": {"nvidia.com/gpu": "1", "amd.com/gpu": "1"}}, 2),
        ({"limits": {"nvidia.com/gpu": "many"}}, 0),
        ({}, 0),
    ],
    ids=["limits stand for requests", "both are one", "of two vendors", "what is no quantity counts as nothing", "none"],
)
def test_gpus_of_a_pod_are_counted(resources: Json, count: int) -> None:
    assert gpus_of({"containers": [{"name": "c", "resources": resources}]}) == count


def test_more_may_be_used_than_requested_but_not_of_devices_and_huge_pages() -> None:
    names = ["cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"]
    assert [may_overcommit(name) for name in names] == [True, True, False, False]


def test_a_node_offers_nothing_of_a_resource_that_it_does_not_have() -> None:
    node: Json = {"status": {"allocatable": {"cpu": "3500m"}}}
    assert [allocatable(node, "cpu"), allocatable(node, "nvidia.com/gpu"), allocatable({}, "cpu")] == [Fraction("3.5"), 0, 0]
