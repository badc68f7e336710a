"""What a pod asks of a node, and what a group of pods asks for together. What counts as a GPU.

Source: Kubernetes 1.36 `component-helpers/resource.PodRequests`. Amounts are exact, in each resource's own unit (cores, bytes,
devices).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from shunter.api.formats.quantity import format_milli, is_binary, parse
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json, Struct

Amounts = dict[str, Fraction]
GPU = "nvidia.com/gpu"
ACCELERATORS = (
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neurondevice",
    "huawei.com/Ascend910",
)
"""Resources without `gpu` in their names that count as one."""

_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"
_OF_A_DEVICE = late_pattern(r"mem|core|tiles|monitoring")
"""What names of resources hold that are no devices but what one has: `nvidia.com/gpumem`, `gpu.intel.com/millicores`."""


def may_overcommit(resource: str) -> bool:
    """Whether a container may use more of it than it requests. Of devices and huge pages requests equal limits, and default to
    them (core/v1 1.36 `IsOvercommitAllowed`)."""
    is_native = "/" not in resource or "kubernetes.io/" in resource
    return is_native and not resource.startswith(_HUGE_PAGES)


class ResourceRequirements(Struct, frozen=True):
    """Quantities by resource, such as `500m` of `cpu`. Limits are not read: in a pod the API server sets requests that are
    missing to its limits."""

    requests: dict[str, str | int | float] = {}


class Container(Struct, frozen=True):
    """What a container asks for; `restart_policy` is set on init containers that are sidecars."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None


class PodRequests(Struct, frozen=True):
    """The part of a pod's spec that says what it asks for."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, str | int | float] = {}
    resources: ResourceRequirements = ResourceRequirements()
    """The resources of the pod as a whole; they override those of its containers."""


def requested(pod: PodRequests) -> Amounts:
    """The most the pod needs at one time: what its containers request, or what it requests as a whole, and its overhead.
    ValueError for what is no quantity."""
    whole = {
        name: quantity for name, quantity in pod.resources.requests.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    return _sum({**requested_by_containers(pod), **_amounts(whole)}, _amounts(pod.overhead))


def requested_by_containers(pod: PodRequests) -> Amounts:
    """The most its containers need at one time: all with their sidecars, or an init container with the sidecars before it.
    ValueError for what is no quantity."""
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in pod.init_containers:
        amounts = _of(container)
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, amounts)
            amounts = {}
        most = _max(most, _sum(sidecars, amounts))
    running = sidecars
    for container in pod.containers:
        running = _sum(running, _of(container))
    return _max(most, running)


def total(pods: Iterable[tuple[PodRequests, int]]) -> dict[str, str]:
    """What several pods, so many of each, ask for together, as quantities in the units of the first that asks."""
    amounts: Amounts = {}
    in_binary: dict[str, bool] = {}
    for pod, count in pods:
        amounts = _sum(amounts, {name: amount * count for name, amount in requested(pod).items()})
        for name, quantity in _quantities(pod):
            if parse(quantity):
                in_binary.setdefault(name, is_binary(quantity))
    return {name: format_milli(amounts[name], binary=in_binary.get(name, False)) for name in sorted(amounts)}


def is_gpu(resource: str) -> bool:
    """`nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915`, `nvidia.com/mig-1g.5gb` (a slice counts as one device)."""
    name = resource.lower()
    return resource in ACCELERATORS or "/mig-" in name or ("gpu" in name and not _OF_A_DEVICE.search(name.rpartition("/")[2]))


def gpus_of(spec: Json) -> int:
    """Devices that a pod of this spec needs at one time; limits stand for requests that are not given, as for pods. What is no
    quantity counts as nothing: the API server refuses such pods."""
    containers, init_containers = (_gpu_containers(spec.get(field)) for field in ("containers", "initContainers"))
    try:
        return int(sum(requested_by_containers(PodRequests(containers, init_containers)).values()))
    except ValueError:
        return 0


def _gpu_containers(listed: Any) -> tuple[Container, ...]:
    return tuple(
        Container(resources=ResourceRequirements(_gpu_requests(one)), restart_policy=one.get("restartPolicy"))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict)
    )


def _gpu_requests(container: Json) -> dict[str, str | int | float]:
    resources = container.get("resources")
    given = [resources.get(field) for field in ("limits", "requests")] if isinstance(resources, dict) else []
    asked = {name: amount for one in given if isinstance(one, dict) for name, amount in one.items()}
    return {name: amount for name, amount in asked.items() if is_gpu(name) and isinstance(amount, str | int | float)}


def _quantities(pod: PodRequests) -> Iterator[tuple[str, Any]]:
    for container in (*pod.containers, *pod.init_containers):
        yield from container.resources.requests.items()
    yield from pod.resources.requests.items()
    yield from pod.overhead.items()


def _of(container: Container) -> Amounts:
    return _amounts(container.resources.requests)


def _amounts(quantities: Mapping[str, Any]) -> Amounts:
    return {name: parse(quantity) for name, quantity in quantities.items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Fraction(0)) + other.get(name, Fraction(0)) for name in one | other}


def _max(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Fraction(0)), other.get(name, Fraction(0))) for name in one | other}


def allocatable(node: Json, resource: str) -> Fraction:
    """The amount of a resource that a node offers to pods, free or in use; 0 if it does not have it."""
    return parse(((node.get("status") or {}).get("allocatable") or {}).get(resource, 0))
