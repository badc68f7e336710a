"""The nodes of a cluster as machines: their allocatable resources, free or in use.

The memory of a GPU is that of NVIDIA's feature discovery labels, else that of the instance type; if both are unknown there is no
verdict. `cluster_instances` reads, the rest is pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.api.scheduling.pod_requests import GPU, allocatable
from shunter.errors import EnvironmentProblem
from shunter.fabrics import INSTANCE_LABEL
from shunter.fabrics.settings import EFA_RESOURCE
from shunter.kube.client import Client
from shunter.sizing.instances import Gpu, Instance, known_gpus, known_instances

CLUSTER: Final = "cluster"
_PRODUCT = "nvidia.com/gpu.product"
_MEMORY = "nvidia.com/gpu.memory"
_REPLICAS = "nvidia.com/gpu.replicas"
_NAMES = {
    "Tesla-T4": "T4",
    "NVIDIA-A10G": "A10G",
    "NVIDIA-L4": "L4",
    "NVIDIA-L40S": "L40S",
    "A100-SXM4-40GB": "A100-40GB",
    "A100-SXM4-80GB": "A100-80GB",
    "H100-80GB-HBM3": "H100",
    "NVIDIA-H200": "H200",
    "NVIDIA-B200": "B200",
    "NVIDIA-B300": "B300",
}
"""Our names of GPUs, by the end of nvidia.com/gpu.product."""


async def cluster_instances(client: Client) -> list[Instance]:
    """The machines with GPUs of a cluster. EnvironmentProblem if it has none; ApiError if nodes may not be listed."""
    found = instances_of((await client.list(NODES)).items)
    if not found:
        raise EnvironmentProblem(
            f"no node of the cluster offers {GPU}.", "Leave --on cluster out to size for machines of a cloud."
        )
    return found


def instances_of(nodes: Iterable[Json]) -> list[Instance]:
    """The nodes with GPUs, grouped by machine type, GPU and number of GPUs. If nodes of a group differ in other resources, the
    smallest amount counts."""
    groups: dict[tuple[str, Gpu, str, int], list[Json]] = defaultdict(list)
    for node in nodes:
        if gpus := int(allocatable(node, GPU)):
            labels = node["metadata"].get("labels") or {}
            gpu, note = _gpu(labels)
            groups[labels.get(INSTANCE_LABEL, ""), gpu, note, gpus].append(node)
    return [
        Instance(
            name=type or f"nodes with {gpu.name}",
            provider=CLUSTER,
            gpu=gpu,
            gpus=gpus,
            cpu=float(min(allocatable(node, "cpu") for node in alike)),
            memory_mib=int(min(allocatable(node, "memory") for node in alike)) // 2**20,
            efa=int(min(allocatable(node, EFA_RESOURCE) for node in alike)),
            available=len(alike),
            note=note,
            is_type=bool(type),
        )
        for (type, gpu, note, gpus), alike in groups.items()
    ]


def _gpu(labels: Json) -> tuple[Gpu, str]:
    """The GPU of a node by its labels, and why no verdict is possible; the reason is empty if one is."""
    product = str(labels.get(_PRODUCT, ""))
    type = known_instances().get(str(labels.get(INSTANCE_LABEL, "")))
    name = next((ours for theirs, ours in _NAMES.items() if product.removesuffix("-SHARED").endswith(theirs)), "")
    gpu = known_gpus().get(name) or (type.gpu if type else None)
    if str(labels.get(_REPLICAS, "1")) not in ("", "0", "1"):
        return gpu or Gpu(
            product or "GPU", 0
        ), f"its GPUs are shared ({_REPLICAS}={labels[_REPLICAS]}): several pods share the memory"
    if "MIG" in product:
        return Gpu(product, 0), "its GPUs are sliced (MIG)"
    memory = str(labels.get(_MEMORY, ""))
    if memory.isascii() and memory.isdigit() and int(memory):
        if gpu is None:
            return Gpu(product or "GPU", int(memory)), ""
        return msgspec.structs.replace(gpu, memory_mib=int(memory)), ""
    if gpu is not None:
        return gpu, ""
    return Gpu(product or "GPU", 0), f"the memory of its GPUs is not known: label {_MEMORY} is missing"
