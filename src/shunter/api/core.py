"""Views of core objects, with only the fields that are used here. A cached pod stays under 5 KB this way.

A further field is added here: pods are decoded in one place only.
"""

from datetime import datetime

import msgspec

from shunter.api.meta import Condition, Json, ObjectMeta, Struct, true_condition

COLD_START = "ColdStart"
"""The reason of a normal event of an embedded cluster's node: a container that was asked to start warm did not."""


def is_shown_to_followers(event_type: str, reason: str) -> bool:
    """Whether `run` shows an event about a job that it follows: a warning, or that a container started cold."""
    return event_type == "Warning" or reason == COLD_START


STARTING = ("", "ContainerCreating", "PodInitializing")
"""The reasons for which a container waits that is only starting; kubelets may leave the reason out."""
FINISHED_PHASES = ("Succeeded", "Failed")
"""The phases of pods that have ended for good."""


def pod_has_ended(pod: Json) -> bool:
    """Whether a pod, as the API server gives it, runs no more and never will again."""
    return (pod.get("status") or {}).get("phase") in FINISHED_PHASES


class TerminatedState(Struct, frozen=True):
    """`reason` is the kubelet's (Completed, Error, OOMKilled, ...); `message` is what the container left at its
    terminationMessagePath, or the end of its log where its policy says so."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class WaitingState(Struct, frozen=True):
    """Why a container does not run: `reason` is one word such as ContainerCreating, ImagePullBackOff or CrashLoopBackOff."""

    reason: str = ""
    message: str = ""


class RunningState(Struct, frozen=True):
    """`started_at` is of this run of the container: a restart begins another."""

    started_at: datetime | None = None


class ContainerState(Struct, frozen=True):
    """At most one of the three; none means that the container waits for an unknown reason."""

    waiting: WaitingState | None = None
    running: RunningState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(Struct, frozen=True):
    """`last_state` is how the run before the last restart ended. An init container that is no sidecar is `ready` once it has
    succeeded."""

    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Struct, frozen=True):
    """`phase` is Pending, Running, Succeeded, Failed or Unknown: a pod that is being deleted keeps its phase until it ends.
    `reason` says e.g. Evicted; addresses are empty until there are some."""

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
    """A PersistentVolumeClaim of the pod's own namespace, which may not exist yet."""

    claim_name: str = ""


class PodVolume(Struct, frozen=True):
    """A volume of a pod, reduced to its claim: None for volumes of other types."""

    persistent_volume_claim: ClaimSource | None = None


class PodSpec(Struct, frozen=True):
    """What controllers decide on. Scheduler and node read more of a pod, each by a view of its own."""

    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    restart_policy: str = "Always"
    volumes: tuple[PodVolume, ...] = ()


class Pod(Struct, frozen=True):
    """Its containers are known by their statuses only: what they were asked to run is not in this view."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed, so that no container of it runs again."""
        return self.status.phase in FINISHED_PHASES

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica: it has not ended and is not being deleted; one that is still Pending counts, too."""
        return not self.is_finished and not self.is_leaving

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready is True; False before there is one."""
        return true_condition(self.status.conditions, "Ready") is not None

    @property
    def claims(self) -> tuple[str, ...]:
        """The PersistentVolumeClaims that are among its volumes."""
        return claim_names(self.spec.volumes)

    def container_status(self, name: str) -> ContainerStatus | None:
        """None for an init container, and for a container that the kubelet has not yet reported."""
        return next((status for status in self.status.container_statuses if status.name == name), None)


def claim_names(volumes: tuple[PodVolume, ...]) -> tuple[str, ...]:
    """The claims among the volumes of a pod."""
    sources = (volume.persistent_volume_claim for volume in volumes)
    return tuple(source.claim_name for source in sources if source is not None)


class Taint(Struct, frozen=True):
    """Keeps pods without a matching toleration away: `effect` is NoSchedule, PreferNoSchedule or NoExecute, which also evicts
    those that run."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(Struct, frozen=True):
    """`unschedulable` is what `kubectl cordon` sets; pods that run stay."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True):
    """`allocatable` are quantities by resource: the capacity without what is kept for the machine itself."""

    allocatable: dict[str, str | int | float] = {}


class Node(Struct, frozen=True):
    """What decides whether a pod fits. It belongs to no namespace."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ServiceSpec(Struct, frozen=True):
    """`cluster_ip` is the text `None` for a headless Service, and empty before the server has chosen one. Names of pods that are
    not ready resolve only with `publish_not_ready_addresses`. One of `type` ExternalName is another name for `external_name`."""

    type: str = "ClusterIP"
    external_name: str = ""
    selector: dict[str, str] = {}
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    publish_not_ready_addresses: bool = False
    ports: tuple[Json, ...] = ()


class Service(Struct, frozen=True):
    """A name for the pods that its selector finds; one with an empty selector finds none."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Struct, frozen=True):
    """Its texts only: `binaryData` is not read."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


def variables_of(container: Json) -> dict[str, str]:
    """The variables that a container, or the trainer of a TrainJob, sets, by name; empty for one taken from elsewhere. Of several
    of one name the last counts, as Kubernetes does it."""
    return {one["name"]: str(one.get("value") or "") for one in container.get("env") or () if isinstance(one.get("name"), str)}


def native_sidecars(pod: Json) -> set[str]:
    """The names of the pod's init containers that go on while the others run: `restartPolicy: Always`."""
    return {one["name"] for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"}


def container_statuses(pod: Json) -> list[Json]:
    """What the kubelet says of each container of a pod as JSON, init containers first."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
