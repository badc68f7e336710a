"""What a v1 job asks for and has used: GPUs, and GPUs times hours. Pure; the clock is an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from shunter.api.meta import Json
from shunter.api.pod_requests import Container, PodRequests, ResourceRequirements, requested
from shunter.operator.overview import FINISHED_STATES, default_replicas, moment, replica_specs, v1_state

ACCELERATORS = (
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neurondevice",
    "huawei.com/Ascend910",
)
"""Resources without `gpu` in their names that count as one."""
_OF_A_DEVICE = re.compile(r"mem|core|tiles|monitoring")
"""What names of resources hold that are no devices but what one has: `nvidia.com/gpumem`, `gpu.intel.com/millicores`."""
_SECONDS = 3600
_RUNNING_STATES = ("Running", "Restarting")


def is_gpu(resource: str) -> bool:
    """`nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915`, `nvidia.com/mig-1g.5gb` (a slice counts as one device)."""
    name = resource.lower()
    return resource in ACCELERATORS or "/mig-" in name or ("gpu" in name and not _OF_A_DEVICE.search(name.rpartition("/")[2]))


def gpus(job: Json) -> Fraction:
    """Devices that all pods of the job ask for together; limits stand for requests that are not given, as for pods. What is no
    quantity counts as nothing: the API server refuses such pods."""
    total = Fraction(0)
    if not isinstance(job.get("spec"), dict):
        return total
    for role, spec in replica_specs(job).items():
        template = spec.get("template")
        replicas = default_replicas(job.get("kind", ""), role) if spec.get("replicas") is None else spec["replicas"]
        if isinstance(template, dict) and isinstance(template.get("spec"), dict) and isinstance(replicas, int):
            total += replicas * _of_pod(template["spec"])
    return total


def run_seconds(job: Json, now: datetime) -> float:
    """How long the job ran, or has run until now; 0 for one that never did, or waits."""
    status = job.get("status") or {}
    state, condition = v1_state(job)
    start = moment(status.get("startTime"))
    if start is None:
        return 0.0
    end = moment(status.get("completionTime"))
    if end is None and state in FINISHED_STATES:
        end = moment(condition.get("lastTransitionTime"))
    if end is None and state in _RUNNING_STATES:
        end = now
    return max(0.0, (end - start).total_seconds()) if end else 0.0


def gpu_hours(job: Json, now: datetime) -> float:
    """Devices asked for, times hours run."""
    devices = gpus(job)
    return float(devices) * run_seconds(job, now) / _SECONDS if devices else 0.0


def _of_pod(spec: Json) -> Fraction:
    pod = PodRequests(containers=_containers(spec.get("containers")), init_containers=_containers(spec.get("initContainers")))
    try:
        return sum(requested(pod).values(), Fraction(0))
    except ValueError:
        return Fraction(0)


def _containers(listed: Any) -> tuple[Container, ...]:
    given: Iterable[Any] = listed if isinstance(listed, list) else ()
    return tuple(
        Container(
            resources=ResourceRequirements(requests=_gpu_requests(container)), restart_policy=container.get("restartPolicy")
        )
        for container in given
        if isinstance(container, dict)
    )


def _gpu_requests(container: Json) -> dict[str, str | int | float]:
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return {}
    limits, requests = (_mapping(resources.get(field)) for field in ("limits", "requests"))
    return {
        name: amount for name, amount in {**limits, **requests}.items() if is_gpu(name) and isinstance(amount, str | int | float)
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
