"""A ResourceQuota for exactly one such job, and defaults for containers without requests. Pure."""

from __future__ import annotations

from typing import Final

from shunter.api.meta import Json
from shunter.api.resources import LIMIT_RANGES, RESOURCE_QUOTAS
from shunter.api.scheduling.pod_requests import GPU
from shunter.sizing.fits import MachineChoice
from shunter.sizing.manifests.requests import memory_mib
from shunter.sizing.options import ManifestOptions

INITIALIZERS: Final = 2
"""Pods besides the training's: the initializers of dataset and model."""
DEFAULT_MEMORY_MIB: Final = 2048


def resource_quota(choice: MachineChoice, options: ManifestOptions) -> Json:
    """A ResourceQuota for one such job at a time. Of extended resources only requests can be limited: the key is
    `requests.nvidia.com/gpu`, and `nvidia.com/gpu` alone binds nothing."""
    hard = {f"requests.{GPU}": str(choice.gpus), "pods": str(choice.nodes + INITIALIZERS)}
    if choice.instance.memory_mib:
        hard["requests.memory"] = f"{choice.nodes * memory_mib(choice) + INITIALIZERS * DEFAULT_MEMORY_MIB}Mi"
    return RESOURCE_QUOTAS.typed({"metadata": _metadata(options), "spec": {"hard": hard}})


def limit_range(options: ManifestOptions) -> Json:
    """Defaults for containers without requests: with a quota on memory, pods without a memory request would be rejected."""
    memory = f"{DEFAULT_MEMORY_MIB}Mi"
    limits = [{"type": "Container", "default": {"memory": memory}, "defaultRequest": {"cpu": "500m", "memory": memory}}]
    return LIMIT_RANGES.typed({"metadata": _metadata(options), "spec": {"limits": limits}})


def _metadata(options: ManifestOptions) -> Json:
    return {"name": options.name, "namespace": options.namespace}
