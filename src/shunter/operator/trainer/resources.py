"""Counting GPUs and CPUs of a container's resources, and merging a job's resources over a runtime's."""

from __future__ import annotations

import math
from collections.abc import Mapping

from shunter.api.formats.quantity import canonical_resource, parse
from shunter.api.meta import Json

AMOUNTS = ("limits", "requests")


def canonical_resources(resources: Json) -> Json:
    """The resources with quantities in canonical form, as Kubernetes returns them."""
    return {
        field: {name: canonical_resource(quantity) for name, quantity in value.items()} if field in AMOUNTS and value else value
        for field, value in resources.items()
    }


def merged_resources(runtime: Json, job: Json) -> Json:
    """Limits and requests key by key, the job's win; claims of both are dropped, as upstream does."""
    merged = {field: {**(runtime.get(field) or {}), **(job.get(field) or {})} for field in AMOUNTS}
    return canonical_resources({field: values for field, values in merged.items() if values})


def gpu_count(resources: Json) -> int:
    """The number of the first resource with `gpu` in its name, among the requests, else the limits; 0 without one: as upstream
    counts for what it writes into pods. What a device is for people and for the doctor, `pod_requests.is_gpu` says."""
    for field in ("requests", "limits"):
        for name, value in (resources.get(field) or {}).items():
            if "gpu" in name.lower():
                return math.ceil(parse(value))
    return 0


def cpu_count(resources: Json) -> int:
    """Requested CPUs, else the limit, in whole cores rounded up; 0 without either."""
    return _cpus(resources.get("requests")) or _cpus(resources.get("limits"))


def _cpus(values: Mapping[str, str | int | float] | None) -> int:
    return math.ceil(parse((values or {}).get("cpu", 0)))
