"""Nodes of a cluster as machines: by what they offer to pods, and by their labels."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.sizing import SizeOptions, size
from shunter.sizing.nodes import instances_of


def node(
    name: str, type: str = "p5.48xlarge", gpus: int = 8, labels: dict[str, str] | None = None, **allocatable: str
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {"node.kubernetes.io/instance-type": type, **(labels or {})} if type else labels or {},
        },
        "status": {
            "allocatable": {"cpu": "191450m", "memory": "1938410Mi", "nvidia.com/gpu": str(gpus), **allocatable},
            "capacity": {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": str(gpus)},
        },
    }


def test_alike_nodes_are_one_type_of_which_there_are_so_many() -> None:
    (found,) = instances_of([node("a"), node("b", memory="1900000Mi")])
    assert (found.name, found.gpu.name, found.gpus, found.available) == ("p5.48xlarge", "H100", 8, 2)
    assert (found.cpu, found.memory_mib) == (191.45, 1_900_000)


def test_what_pods_may_request_counts_and_not_the_capacity() -> None:
    (found,) = instances_of([node("a", cpu="100", memory="1Gi")])
    assert (found.cpu, found.memory_mib) == (100.0, 1024)


def test_nodes_without_gpus_are_left_out() -> None:
    assert instances_of([node("a", gpus=0), {"metadata": {"name": "b"}}]) == []


def test_labels_of_feature_discovery_say_what_the_type_does_not() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    (found,) = instances_of([node("a", type="", labels=labels)])
    assert (found.name, found.gpu.name, found.gpu.memory_mib, found.is_type) == ("nodes with H100", "H100", 81559, False)
    assert found.gpu.mfu is not None


def test_gpus_that_are_not_known_have_the_memory_that_their_label_says_and_no_speed() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-RTX-A6000", "nvidia.com/gpu.memory": "49140"}
    (found,) = instances_of([node("a", type="", labels=labels)])
    assert (found.gpu.name, found.gpu.memory_mib, found.gpu.mfu) == ("NVIDIA-RTX-A6000", 49140, None)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({}, "the memory of its GPUs is not known: label nvidia.com/gpu.memory is missing"),
        (
            {"nvidia.com/gpu.product": "NVIDIA-A10G-SHARED", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "23028"},
            "its GPUs are shared (nvidia.com/gpu.replicas=4)",
        ),
        (
            {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/gpu.memory": "9856"},
            "its GPUs are sliced (MIG)",
        ),
    ],
)
def test_nodes_whose_gpus_hold_an_unknown_share_get_no_verdict(labels: dict[str, str], reason: str) -> None:
    instances = instances_of([node("a", type="", labels=labels)])
    (option,) = size("GPT-2", instances=instances).choices
    assert option.verdict == "unknown"
    assert option.reason.startswith(reason)


def test_no_more_nodes_are_asked_for_than_there_are() -> None:
    (option,) = size("Llama-3.1-70B", instances=instances_of([node("a")])).choices
    assert (option.verdict, option.choice.nodes) == ("no", 1)
    (option,) = size("Llama-3.1-8B", instances=instances_of([node("a"), node("b"), node("c")])).choices
    assert (option.verdict, option.choice.nodes) == ("fits", 1)


def test_more_nodes_than_there_are_do_not_fit() -> None:
    (option,) = size("Llama-3.1-8B", SizeOptions(nodes=3), instances=instances_of([node("a"), node("b")])).choices
    assert (option.verdict, option.reason) == ("no", "the cluster has only 2 of them")


def test_all_of_three_nodes_are_tried() -> None:
    nodes = instances_of([node(name, type="p4d.24xlarge") for name in "abc"])
    assert nodes[0].available == 3
    (option,) = size("Llama-2-70B", instances=nodes).choices
    assert option.choice.nodes == 3
