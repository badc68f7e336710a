"""The scheduler's view of a pod: what it asks of a node.

Apart from the view that all controllers share, since this is much of a pod, and of interest only until the pod has a node.
"""

from __future__ import annotations

from shunter.api.core import FINISHED_PHASES, PodStatus, PodVolume, claim_names
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.scheduling.pod_requests import PodRequests


class Toleration(Struct, frozen=True):
    """An empty `effect` stands for all effects, an empty `key` with the operator Exists for all taints."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodSpec(PodRequests, frozen=True):
    """Its requests, and all that chooses among nodes. One with a `node_name` has its node; one with scheduling gates does not
    want one yet."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: Json = {}
    priority: int = 0
    scheduling_gates: tuple[Json, ...] = ()
    volumes: tuple[PodVolume, ...] = ()


class SchedulablePod(Struct, frozen=True):
    """A pod that waits for a node, or takes up room on one."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claims(self) -> tuple[str, ...]:
        """The PersistentVolumeClaims that are among its volumes."""
        return claim_names(self.spec.volumes)

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed, so that its room is free again."""
        return self.status.phase in FINISHED_PHASES
