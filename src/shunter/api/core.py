"""Views of core objects: only the fields that somebody here decides on. A cached pod stays under 5 KB this way.

Whoever needs one more field adds it here; nobody decodes a pod a second way.
"""

from datetime import datetime

import msgspec

from shunter.api.meta import Condition, Json, ObjectMeta, Struct

COLD_START = "ColdStart"
"""The reason of a normal event of an embedded cluster's node: a container that was asked to start warm did not."""


FINISHED_PHASES = ("Succeeded", "Failed")
"""Of pods that run no more, and never will again."""


def pod_has_ended(pod: Json) -> bool:
    """Whether a pod, as the API server gives it, runs no more and never will again."""
    return (pod.get("status") or {}).get("phase") in FINISHED_PHASES


class TerminatedState(Struct, frozen=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class WaitingState(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class RunningState(Struct, frozen=True):
    started_at: datetime | None = None


class ContainerState(Struct, frozen=True):
    waiting: WaitingState | None = None
    running: RunningState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(Struct, frozen=True):
    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Struct, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    host_ip: str = msgspec.field(name="hostIP", default="")
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class ClaimSource(Struct, frozen=True):
    claim_name: str = ""


class PodVolume(Struct, frozen=True):
    persistent_volume_claim: ClaimSource | None = None


class PodSpec(Struct, frozen=True):
    """What controllers decide on. Scheduler and node read more of a pod, each by a view of its own."""

    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    restart_policy: str = "Always"
    volumes: tuple[PodVolume, ...] = ()


class Pod(Struct, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in FINISHED_PHASES

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_ready(self) -> bool:
        return any(c.type == "Ready" and c.is_true for c in self.status.conditions)

    @property
    def claims(self) -> tuple[str, ...]:
        """The PersistentVolumeClaims that are among its volumes."""
        return claim_names(self.spec.volumes)

    def container_status(self, name: str) -> ContainerStatus | None:
        return next((status for status in self.status.container_statuses if status.name == name), None)


def claim_names(volumes: tuple[PodVolume, ...]) -> tuple[str, ...]:
    """The claims among the volumes of a pod."""
    sources = (volume.persistent_volume_claim for volume in volumes)
    return tuple(source.claim_name for source in sources if source is not None)


class Taint(Struct, frozen=True):
    key: str
    effect: str
    value: str = ""


class NodeSpec(Struct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True):
    allocatable: dict[str, str | int | float] = {}


class Node(Struct, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    publish_not_ready_addresses: bool = False
    ports: tuple[Json, ...] = ()


class Service(Struct, frozen=True):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Struct, frozen=True):
    metadata: ObjectMeta
    data: dict[str, str] = {}


def container_statuses(pod: Json) -> list[Json]:
    """What the kubelet says of each container of a pod as JSON, init containers first."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
