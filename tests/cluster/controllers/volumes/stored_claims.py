"""Claims and volumes as the API server stores them."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.cluster.controllers.volumes.views import Claim, StorageClass, Volume
from shunter.cluster.local_path import PROVISIONER

STANDARD = msgspec.convert(
    {"metadata": {"name": "standard"}, "provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}, StorageClass
)


def claim(*, metadata: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any) -> Claim:
    named = {"name": "data", "namespace": "n", "uid": "c1", "resourceVersion": "5", **(metadata or {})}
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "standard"}
    return msgspec.convert({"metadata": named, "spec": {**wanted, **spec}, "status": status or {"phase": "Pending"}}, Claim)


def volume(
    name: str = "v", *, size: str = "1Gi", phase: str = "Available", metadata: dict[str, Any] | None = None, **spec: Any
) -> Volume:
    offered = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "storageClassName": "standard", **spec}
    named = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", **(metadata or {})}
    return msgspec.convert({"metadata": named, "spec": offered, "status": {"phase": phase}}, Volume)
