"""What blocks one pod of a job: the value that every rule about pods returns. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.meta import Json, Struct
from shunter.operator.overview import moment

RESPONSE_TIMEOUT = timedelta(seconds=30)
"""How long a scheduler or a node may take to react to a pod before that is reported."""
ORDER = (
    "MissingClaim",
    "MissingConfigMap",
    "MissingSecret",
    "ConfigError",
    "ImagePull",
    "StartError",
    "UnboundClaim",
    "VolumeMount",
    "PodSandbox",
    "Unschedulable",
    "SchedulingGated",
    "NoScheduler",
    "NodeNotResponding",
    "WaitingForGang",
    "CrashLoop",
)
"""The causes by priority: those that never resolve themselves first, those that often follow from others last."""


class BlockedPod(Struct, frozen=True):
    """What blocks one pod."""

    label: str
    word: str
    text: str
    remedy: str = ""
    is_loop: bool = False
    """Whether the pod has run: it may have failed because another is not there."""
    gang: str = ""
    """The PodGroup of Kubernetes (scheduling.k8s.io) with which it is placed."""

    @property
    def order(self) -> int:
        """The position of `word` in `ORDER`: the cause with the lowest is shown for the job. ValueError if it is not there."""
        return ORDER.index(self.word)


def age(pod: Json, now: datetime) -> timedelta:
    """Time since its creationTimestamp; zero where it has none."""
    created = moment(pod["metadata"].get("creationTimestamp"))
    return now - created if created else timedelta()
