"""Devices of a job, and the hours that it used them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from migrate.survey.inventory.rows import job, row, with_role
from shunter.api.meta import Json
from shunter.migrate.survey.inventory import gpu_hours


@pytest.mark.parametrize(
    ("value", "hours"),
    [
        (job(gpus=2, state="Running"), 4 * 2 * 2.0),
        (job(gpus=2, state="Succeeded"), 4 * 2 * 1.0),
        (job(gpus=2, state="Suspended"), 0),
        (job(gpus=2), 0),
        (job(state="Running"), 0),
    ],
    ids=["until now", "until its end", "suspended", "never started", "no GPU"],
)
def test_gpu_hours_are_devices_times_hours_run(value: Json, hours: float) -> None:
    assert row(value).gpu_hours == hours


@pytest.mark.parametrize(
    ("resources", "devices"),
    [
        ({"limits": {"nvidia.com/gpu": "1"}}, 1),
        ({"requests": {"amd.com/gpu": 2}, "limits": {"amd.com/gpu": 3}}, 2),
        ({"limits": {"nvidia.com/mig-1g.5gb": 3, "cpu": "64"}}, 3),
        ({"limits": {"habana.ai/gaudi": 8}}, 8),
        ({"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000, "nvidia.com/gpucores": 30}}, 1),
        ({"limits": {"gpu.intel.com/i915": 2, "gpu.intel.com/memory.max": "1Gi", "gpu.intel.com/millicores": 50}}, 2),
        ({"limits": {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}}, 1),
        ({"limits": {"nvidia.com/gpu": "many"}}, 0),
        ({"limits": "all"}, 0),
    ],
    ids=[
        "limits stand for requests",
        "requests go first",
        "slices",
        "other accelerators",
        "memory and cores of a GPU",
        "what a GPU of Intel has",
        "shared GPUs",
        "no quantity",
        "no mapping",
    ],
)
def test_devices_of_a_pod_are_its_requests_or_else_its_limits_of_device_resources(resources: Any, devices: int) -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "resources": resources}]}}
    assert gpu_hours.gpus({"spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}}}) == Fraction(devices)


def test_a_role_whose_number_is_null_has_one_pod() -> None:
    assert gpu_hours.gpus(with_role(job(gpus=2), "Worker", replicas=None)) == 2 + 2
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}}
    assert gpu_hours.gpus({"kind": "MPIJob", "spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}}}) == 0
