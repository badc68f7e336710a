"""What was read of one job: the input of `diagnose`, before any judgement."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json, Struct
from shunter.operator import causes


class Log(Struct, frozen=True):
    """The end of one container's log, with a timestamp before each line."""

    pod: str
    container: str
    text: str
    is_previous: bool = False
    """Whether it is of the run before the last restart."""


class Frame(Struct, frozen=True, cache_hash=True):
    """One call of a stack."""

    function: str
    file: str
    line: int = 0
    is_own: bool = False
    """Whether it is in the program itself, not in a library."""


class Process(Struct, frozen=True):
    """A Python process of a rank, or a descendant of one, at one moment."""

    pod: str
    container: str
    pid: int
    parent: int = 0
    rank: int | None = None
    """The rank in its own environment (RANK); None if that has none."""
    command: str = ""
    """The program with its subcommand or script (`redaction.short_command`); whole in recordings before 2026-11-29."""
    frames: tuple[Frame, ...] = ()
    """The frames of the main thread, innermost call first; empty if stacks could not be read."""
    state: str = ""
    """The process state in /proc/PID/stat: R, S, D, Z."""
    cpu_seconds: float = 0.0
    switches: int = 0
    """Voluntary context switches of the main thread: constant while it waits for one thing."""
    uses_cuda: bool | None = None
    """Whether it has loaded NVIDIA's driver library; None where that could not be read, as in recordings before 2026-11-26."""
    uses_mpi: bool = False
    """Whether it has loaded a library of MPI."""
    is_python: bool = True
    """False for another program that a Python process started, such as a copy or an upload; not in recordings before
    2026-11-29."""


class Sample(Struct, frozen=True):
    """The processes of all ranks at one moment."""

    at: datetime
    processes: tuple[Process, ...]
    last_lines: dict[str, str] = {}
    """The time of the last log line, by pod."""


class Collective(Struct, frozen=True):
    """One entry of torch's flight recorder: a collective that a rank has enqueued."""

    number: int
    """Its sequence number in its process group, or that of a point-to-point operation."""
    name: str
    """The collective operation, such as `all_reduce`."""
    sizes: str = ""
    is_retired: bool = False


class Recording(Struct, frozen=True):
    """What the flight recorder of one rank holds of one process group."""

    rank: int
    group: str
    """The name of the process group in the program."""
    entries: tuple[Collective, ...]
    last_enqueued: int | None = None
    last_completed: int | None = None
    id: str = ""
    """The id of the group: the library that makes and counts the calls, and torch's unique name."""


class Missing(Struct, frozen=True):
    """A source that was not read, and why."""

    what: str
    """`logs`, `stacks`, or the plural of a kind."""
    why: str
    is_refused: bool = True
    """False where the user did not ask for it, or the cluster does not serve it."""


NO_EXEC = "--no-exec"
"""The reason in `Missing` if the user did not allow exec."""


class Evidence(Struct, frozen=True):
    """Everything that was read of one job. It may include pods and events of others."""

    job: Json
    at: datetime
    pods: tuple[Json, ...] = ()
    events: tuple[Json, ...] = ()
    children: tuple[Json, ...] = ()
    """The JobSet of a TrainJob, the Jobs of that, and the ConfigMap that lists the nodes of one with MPI."""
    workloads: tuple[Json, ...] | None = None
    """Kueue's Workloads; None if the cluster does not serve them."""
    position: causes.Position | None = None
    nodes: tuple[Json, ...] = ()
    neighbours: tuple[Json, ...] = ()
    """Pods of all namespaces that hold resources of nodes; read only if a pod does not fit on a node."""
    claims: tuple[Json, ...] = ()
    policies: tuple[Json, ...] = ()
    """NetworkPolicies of the namespace; read only if a rank could not connect."""
    logs: tuple[Log, ...] = ()
    cpu: dict[str, float] = {}
    """Cores that a pod uses, by its name."""
    samples: tuple[Sample, ...] = ()
    recordings: tuple[Recording, ...] = ()
    """The recordings of the flight recorders, read with the second sample."""
    missing: tuple[Missing, ...] = ()

    @property
    def api(self) -> causes.Evidence:
        """The part from which `operator.causes` decides."""
        return causes.Evidence(
            pods=self.pods,
            events=self.events,
            children=self.children,
            workloads=self.workloads,
            position=self.position,
            unread=tuple(one.what for one in self.missing if one.is_refused),
        )

    def lacks(self, what: str) -> bool:
        """Whether this source was not read: refused, not served or not asked for. `what` is as in `Missing`."""
        return any(one.what == what for one in self.missing)
