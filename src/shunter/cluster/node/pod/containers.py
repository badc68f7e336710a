"""What is known about a pod's containers: values that the lifecycle decides on and the status shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from shunter.api.meta import Json

STATUS_UNKNOWN = "ContainerStatusUnknown"


class Role(Enum):
    """INIT runs to its end before the next starts; SIDECAR is an init container that keeps running; MAIN is the pod's purpose;
    EPHEMERAL is added to a pod that is there, runs once and decides nothing about the pod."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"
    EPHEMERAL = "ephemeral"


class Attempt(NamedTuple):
    """One run of a container. Times are seconds since the epoch; 0 means not yet."""

    number: int
    id: str
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    cold: str = ""
    """Why it was started cold, where it was to start warm."""
    warm: bool = False
    """Whether it is a fork of a warm parent."""

    @property
    def is_running(self) -> bool:
        """Whether it has started and not ended; one that is being launched has not started."""
        return self.started_at > 0 and self.exit_code is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or could not be started: it has an exit code either way."""
        return self.exit_code is not None

    @property
    def seconds(self) -> float:
        """How long an attempt that is over ran; 0 for one that never started."""
        return self.finished_at - self.started_at if self.started_at else 0.0


class Waiting(NamedTuple):
    """Why a container does not run, as its status shows it."""

    reason: str
    message: str = ""


class ContainerState(NamedTuple):
    """One container: its newest attempt (None before the first), the one before it, and what probes say of it."""

    role: Role
    attempt: Attempt | None = None
    previous: Attempt | None = None
    started: bool = False
    ready: bool = False
    waiting: Waiting | None = None
    streak: int = 0
    """Restarts since the container last ran for long; what the back-off grows with."""

    @property
    def is_running(self) -> bool:
        """Whether its newest attempt runs; one that is being launched does not yet."""
        return self.attempt is not None and self.attempt.is_running

    @property
    def is_over(self) -> bool:
        """Whether its newest attempt has ended: another one may follow."""
        return self.attempt is not None and self.attempt.is_over

    @property
    def is_active(self) -> bool:
        """Running or about to."""
        return self.attempt is not None and not self.attempt.is_over

    @property
    def has_succeeded(self) -> bool:
        """Whether its newest attempt ended with exit code 0."""
        return self.attempt is not None and self.attempt.exit_code == 0


Containers = Mapping[str, ContainerState]


def every(spec: Json) -> Iterator[tuple[Json, Role]]:
    """All containers of a pod, those that were added to it last."""
    yield from declared(spec)
    for container in ephemeral(spec):
        yield container, Role.EPHEMERAL


def ephemeral(spec: Json) -> Sequence[Json]:
    """The containers that were added to a pod, to look into it."""
    return spec.get("ephemeralContainers") or ()


def declared(spec: Json) -> Iterator[tuple[Json, Role]]:
    """The containers that a pod was created with, in start order, with their roles."""
    for container in spec.get("initContainers") or ():
        yield container, Role.SIDECAR if container.get("restartPolicy") == "Always" else Role.INIT
    for container in spec["containers"]:
        yield container, Role.MAIN
