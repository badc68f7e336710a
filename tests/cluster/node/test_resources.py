"""What pods ask for, and what is said when the machine lacks it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.resources import claimed, limits, machine_capacity, shortfalls, written
from shunter.cluster.node.runtime.cgroups import Limits
from shunter.errors import InputError

CAPACITY = {"cpu": Fraction(4), "memory": Fraction(24 << 30) - 1, "pods": Fraction(100)}


@pytest.mark.parametrize(
    ("resources", "sentences"),
    [
        pytest.param(
            {"limits": {"nvidia.com/gpu": 1}}, ["asked for 1 nvidia.com/gpu, this machine has none: runs on CPU"], id="gpu"
        ),
        pytest.param({"requests": {"memory": "32Gi"}}, ["asked for 32Gi memory, this machine has 23Gi"], id="memory"),
        pytest.param({"limits": {"cpu": "6500m"}}, ["asked for 6.5 cpu, this machine has 4"], id="cpu"),
        pytest.param({"limits": {"cpu": "1e400"}}, ["asked for 1e+15 or more cpu, this machine has 4"], id="no-float"),
        pytest.param({"limits": {"rdma/hca": 1}}, ["asked for 1 rdma/hca, this machine has none"], id="other-device"),
        pytest.param({"limits": {"cpu": 8}, "requests": {"cpu": 1, "memory": "8Gi"}}, [], id="requests-count-before-limits"),
        pytest.param({}, [], id="nothing-asked"),
    ],
)
def test_shortfalls(resources: Any, sentences: list[str]) -> None:
    assert shortfalls({"containers": [{"name": "main", "resources": resources}]}, CAPACITY) == sentences


def sidecar(cpu: str) -> dict[str, Any]:
    return {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}}


def test_an_init_container_counts_when_it_asks_for_more() -> None:
    spec = {
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": 5}}}],
        "containers": [{"name": name, "resources": {"requests": {"cpu": 2}}} for name in "ab"],
    }
    assert shortfalls(spec, CAPACITY) == ["asked for 5 cpu, this machine has 4"]


@pytest.mark.parametrize(
    ("more", "sentences"),
    [
        pytest.param(
            {"initContainers": [sidecar("1"), {"name": "init", "resources": {"requests": {"cpu": "4"}}}]},
            ["asked for 5 cpu, this machine has 4"],
            id="an init container and the sidecar that was started before it",
        ),
        pytest.param({"overhead": {"cpu": "3"}}, ["asked for 5 cpu, this machine has 4"], id="the overhead of its runtime class"),
        pytest.param(
            {"resources": {"requests": {"cpu": "6"}}}, ["asked for 6 cpu, this machine has 4"], id="its requests as a whole"
        ),
    ],
)
def test_pod_is_counted_as_the_scheduler_counts_it(more: Any, sentences: list[str]) -> None:
    main = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    assert shortfalls({"containers": [main], **more}, CAPACITY) == sentences


def test_gpus_are_counted_by_their_devices(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    capacity = machine_capacity(tmp_path)
    assert capacity["nvidia.com/gpu"] == 2
    assert written(capacity)["nvidia.com/gpu"] == "2"
    assert written(capacity)["memory"].endswith("Ki")


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        pytest.param({"cpu": "500m", "memory": "1Ki"}, Limits(1024, Fraction(1, 2)), id="both"),
        pytest.param({"cpu": "0", "memory": 0}, Limits(), id="zero-is-no-limit"),
        pytest.param({}, Limits(), id="none"),
    ],
)
def test_limits(declared: Any, found: Limits) -> None:
    assert limits({"resources": {"limits": declared}}) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("cpu=64", {"cpu": "64"}, id="cores"),
        pytest.param("cpu=1500m", {"cpu": "1500m"}, id="parts-of-cores"),
        pytest.param("memory=256Gi,nvidia.com/gpu=8", {"memory": "268435456Ki", "nvidia.com/gpu": "8"}, id="several"),
        pytest.param("cpu=64, memory=1Gi,", {"cpu": "64", "memory": "1048576Ki"}, id="blanks and a comma at the end"),
    ],
)
def test_claims_are_read_as_kubernetes_writes_them(text: str, found: dict[str, str]) -> None:
    assert written(claimed(text)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("gpu=8", "'gpu' is not a resource", id="resource-without-a-domain"),
        pytest.param("cpu", "cpu: '' is not a resource quantity", id="no-amount"),
        pytest.param("cpu=lots", "cpu=lots: 'lots' is not a resource quantity", id="no-quantity"),
    ],
)
def test_a_claim_that_means_nothing_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        claimed(text)
