"""What holds up one pod of a job: the value that every rule about pods returns. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.meta import Json, Struct
from shunter.operator.overview import moment

RESPONSE_TIMEOUT = timedelta(seconds=30)
"""How long a scheduler or a node may say nothing about a pod before that is told."""
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
"""Which cause heads the others of a job: what never passes by itself before what may, and what is often a consequence last."""


class BlockedPod(Struct, frozen=True):
    """What holds up one pod."""

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
        """The place of `word` in `ORDER`: of several causes the one with the least heads the job. ValueError for a word not in
        it."""
        return ORDER.index(self.word)


def age(pod: Json, now: datetime) -> timedelta:
    """Time since its creationTimestamp; zero where it has none."""
    created = moment(pod["metadata"].get("creationTimestamp"))
    return now - created if created else timedelta()
