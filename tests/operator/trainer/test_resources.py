"""What a node of a TrainJob requests."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.operator.trainer.resources import cpu_count, gpu_count, merged_resources


def test_resources_merge_key_by_key_and_lose_claims() -> None:
    runtime = {"limits": {"cpu": "4", "memory": "8Gi"}, "claims": [{"name": "x"}]}
    job = {"limits": {"memory": "16Gi"}, "requests": {"cpu": 1.0}, "claims": [{"name": "y"}]}
    assert merged_resources(runtime, job) == {"limits": {"cpu": "4", "memory": "16Gi"}, "requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("resources", "gpus", "cpus"),
    [
        ({}, 0, 0),
        ({"limits": {"nvidia.com/gpu": 2.0}}, 2, 0),
        ({"requests": {"amd.com/GPU": "1", "cpu": "0"}, "limits": {"cpu": "250m"}}, 1, 1),
        ({"limits": {"nvidia.com/mig-1g.5gb": "3"}}, 0, 0),
    ],
)
def test_gpus_and_cpus_are_counted_as_upstream_counts_them(resources: Json, gpus: int, cpus: int) -> None:
    assert (gpu_count(resources), cpu_count(resources)) == (gpus, cpus)
