"""What the autoscaler reads, and what it finds out."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from shunter.api.core import PodStatus
from shunter.api.meta import Condition, Json, ObjectMeta, Struct
from shunter.api.scheduling.pod_requests import PodRequests


class ScaleTargetRef(Struct, frozen=True):
    """The object, in the autoscaler's own namespace, whose subresource `scale` gets another number of replicas."""

    kind: str = ""
    name: str = ""
    api_version: str = ""


class ScalingPolicy(Struct, frozen=True):
    """How far replicas may change within `period_seconds`: by `value` pods if `type` is Pods, else by `value` percent."""

    type: str = "Percent"
    value: int = 0
    period_seconds: int = 15


class ScalingRules(Struct, frozen=True):
    """How fast it may go in one direction. `select_policy` is Max or Min of what the policies allow, or Disabled; without a
    stabilization window it is 0 seconds up and 300 down, without a tolerance a tenth."""

    stabilization_window_seconds: int | None = None
    select_policy: str = "Max"
    policies: tuple[ScalingPolicy, ...] = ()
    tolerance: str | int | float | None = None


class Behavior(Struct, frozen=True):
    """The rules for more replicas, and those for fewer."""

    scale_up: ScalingRules = ScalingRules()
    scale_down: ScalingRules = ScalingRules()


class AutoscalerSpec(Struct, frozen=True):
    """`metrics` stay JSON, as their types have different fields. `behavior` is None where nothing is said of how fast to go."""

    scale_target_ref: ScaleTargetRef = ScaleTargetRef()
    min_replicas: int = 1
    max_replicas: int = 1
    metrics: tuple[Json, ...] = ()
    behavior: Behavior | None = None


class AutoscalerStatus(Struct, frozen=True):
    """The stored status. `desired_replicas` is the number desired after all limits, `last_scale_time` when the replicas of the
    target were last changed."""

    current_replicas: int = 0
    desired_replicas: int = 0
    last_scale_time: datetime | None = None
    current_metrics: tuple[Json, ...] | None = None
    conditions: tuple[Condition, ...] = ()


class Autoscaler(Struct, frozen=True):
    """A HorizontalPodAutoscaler."""

    metadata: ObjectMeta
    spec: AutoscalerSpec = AutoscalerSpec()
    status: AutoscalerStatus = AutoscalerStatus()


class ScaledPod(Struct, frozen=True):
    """A pod that may be among those that are scaled."""

    metadata: ObjectMeta
    spec: PodRequests = PodRequests()
    status: PodStatus = PodStatus()


class ContainerUsage(Struct, frozen=True):
    """What one container uses, as quantities by resource: `{"cpu": "250m", "memory": "64Mi"}`."""

    name: str = ""
    usage: dict[str, str | int | float] = {}


class PodMetrics(Struct, frozen=True):
    """What the resource metrics API says of a pod; `window` as Go writes durations."""

    metadata: ObjectMeta
    timestamp: datetime | None = None
    window: str = "0s"
    containers: tuple[ContainerUsage, ...] = ()


class PodMetricsList(Struct, frozen=True):
    """What the resource metrics API answers for a selector; pods without figures are not in it."""

    items: tuple[PodMetrics, ...] = ()


class ScaleSpec(Struct, frozen=True):
    """The replicas that are asked for."""

    replicas: int = 0


class ScaleStatus(Struct, frozen=True):
    """The replicas that there are, and their label selector in its text form: `app=web,tier in (a,b)`."""

    replicas: int = 0
    selector: str = ""


class Scale(Struct, frozen=True):
    """The autoscaling/v1 Scale of the target."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


class Unable(Exception):
    """Why something cannot be computed, in the original's words."""


class Proposal(NamedTuple):
    """How many replicas one metric asks for, what the metric is called, and how it stands."""

    replicas: int
    metric: str
    status: Json
