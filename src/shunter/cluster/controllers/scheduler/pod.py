"""The scheduler's view of a pod: what it asks of a node.

Apart from the view that all controllers share, since this is much of a pod, and of interest only until the pod has a node.
"""

from __future__ import annotations

from shunter.api.core import PodStatus
from shunter.api.meta import Json, ObjectMeta, Struct


class ResourceRequirements(Struct, frozen=True):
    requests: dict[str, str | int | float] = {}


class Container(Struct, frozen=True):
    """What a container asks for; `restart_policy` is set on init containers that are sidecars."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""


class Toleration(Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodSpec(Struct, frozen=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] = {}
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    affinity: Json = {}
    priority: int = 0
    scheduling_gates: tuple[Json, ...] = ()
    overhead: dict[str, str | int | float] = {}


class SchedulablePod(Struct, frozen=True):
    """A pod that waits for a node, or takes up room on one."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")
