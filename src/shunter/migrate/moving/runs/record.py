"""What was seen of one run of a job: a value that can be kept in a file until there is a run to compare it with (a baseline).

A baseline outlives v1: once it is exported, neither the job nor its pods are needed any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from shunter.api.meta import Struct
from shunter.api.titles import object_title
from shunter.errors import InputError
from shunter.jobs.metrics import Process, Series
from shunter.operator.overview import FINISHED_STATES

FORMAT = "shunter.dev/run/v1"


class Pod(Struct, frozen=True):
    """A pod of the run that trains, as it was last seen."""

    label: str
    """`master-0`, `node-2`."""
    rank: int
    restarts: int = 0
    requests: dict[str, str] = {}
    """What its containers ask for together, init containers left out: v1 brings its own."""


class Run(Struct, frozen=True):
    """One run, as far as it is known."""

    format: str = FORMAT
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    state: str = "Created"
    """The state as named by `operator.overview`, the same for both generations."""
    ran: bool = True
    """Whether it ever ran, as far as it is known."""
    moved: bool = False
    """Whether it was stopped after this was seen, and its TrainJob goes on with the training."""
    message: str = ""
    changed: dict[str, str] = {}
    """How a trial run differs from the job on purpose: `{"nodes": "1 of 3", "steps": "20"}`; empty for a full run."""
    seed: str = ""
    """The seed as the program printed it."""
    started: datetime | None = None
    """When its first pod was started on a node: what came before is the cluster's doing, not the job's."""
    finished: datetime | None = None
    first_step: datetime | None = None
    pods: tuple[Pod, ...] = ()
    """The training pods that still exist, by rank."""
    gone: int = 0
    """How many were there, as the job's spec says, and are deleted since: by cleanPodPolicy, or when the first rank succeeded."""
    planned: tuple[dict[str, str], ...] = ()
    """What each pod asks for that is to train, as the job says, whether it is there or not; empty when that is not known."""
    processes: tuple[Process, ...] = ()
    series: tuple[Series, ...] = ()

    @property
    def title(self) -> str:
        """`TrainJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name).strip()

    @property
    def is_finished(self) -> bool:
        """Whether it succeeded or failed; a job that is suspended has not finished."""
        return self.state in FINISHED_STATES

    @property
    def wall_seconds(self) -> float | None:
        """From the start of its first pod to its end; None where either is not known."""
        return _between(self.started, self.finished)

    @property
    def first_step_seconds(self) -> float | None:
        """From the start of its first pod to its first step; None where either is not known."""
        return _between(self.started, self.first_step)

    def with_series(self, more: Iterable[Series]) -> Run:
        """The run with metrics from an additional source."""
        return msgspec.structs.replace(self, series=(*self.series, *more))


def encoded(run: Run) -> bytes:
    """The run as indented JSON, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n"


def stored(path: Path) -> Run:
    """The run that a file holds. InputError when it holds none."""
    try:
        run = msgspec.json.decode(path.read_bytes(), type=Run)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.", "Write one with: shunter migrate compare JOB --export-baseline FILE") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path}: no baseline can be read from it: {error}.", "Name a file that --export-baseline wrote."
        ) from error
    if run.format != FORMAT:
        raise InputError(f"{path}: format is {run.format!r}, this release reads {FORMAT!r}.", "Export the baseline again.")
    return run


def _between(begun: datetime | None, ended: datetime | None) -> float | None:
    return (ended - begun).total_seconds() if begun and ended else None
