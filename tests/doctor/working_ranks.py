"""Ranks as samples of their stacks show them at work, and what the doctor finds of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Frame, Log, Process, Sample
from shunter.doctor.verdicts import Report, Verdict

SECONDS = 5.0


class Work(NamedTuple):
    """What a rank is seen to do in two samples."""

    line: int
    state: str = "R"
    cpu: float = SECONDS
    switches: int = 1
    uses_cuda: bool | None = True
    uses_mpi: bool = False
    next_line: int = 0
    """Where it is in the second sample; 0 for the same line."""
    frames: tuple[Frame, ...] = ()
    """Instead of those at its line."""
    children: tuple[Work, ...] = ()
    """What the process does that it started, what that one started, and so on."""
    program: str = ""
    """The command line, if it is no Python program."""

    def processes(self, rank: int, *, is_last: bool) -> list[Process]:
        chain = [self, *self.children]
        return [
            msgspec.structs.replace(one.process(rank, is_last=is_last), pid=1 + number, parent=number)
            for number, one in enumerate(chain)
        ]

    def process(self, rank: int, *, is_last: bool) -> Process:
        line = self.next_line or self.line if is_last else self.line
        return Process(
            pod=pod(rank)["metadata"]["name"],
            container="pytorch",
            pid=1,
            rank=rank,
            frames=self.frames or (Frame(function="train", file="train.py", line=line, is_own=True),),
            state=self.state,
            cpu_seconds=30 + self.cpu * is_last,
            switches=100 + self.switches * is_last,
            uses_cuda=self.uses_cuda,
            uses_mpi=self.uses_mpi,
            command=self.program,
            is_python=not self.program,
        )


WAITS = Work(line=66)
RESTS = Work(line=37, state="S", cpu=0.0)
COMPUTES = Work(line=20)
CALL = (
    Frame(function="all_reduce", file="torch/distributed/distributed_c10d.py", line=9),
    Frame(function="train", file="train.py", line=70, is_own=True),
)
IN_CALL = Work(line=70, state="S", cpu=0.0, frames=CALL)
"""Waits in a collective."""
WORKER = Work(line=5, state="S", cpu=0.0, uses_cuda=False)
"""A process that the rank started, such as a DataLoader worker."""


def found(
    *works: Work, silent: float = 40.0, logs: Sequence[Log] = (), age: float = 400.0, logs_read: float = 0.0
) -> list[Verdict]:
    """The verdicts of `report`."""
    return list(report(*works, silent=silent, logs=logs, age=age, logs_read=logs_read).verdicts)


def report(*works: Work, silent: float = 40.0, logs: Sequence[Log] = (), age: float = 400.0, logs_read: float = 0.0) -> Report:
    """`age`: seconds since the ranks started. `logs_read`: seconds before the second sample at which the logs were read."""
    samples = tuple(
        Sample(
            at=NOW - timedelta(seconds=0 if is_last else SECONDS),
            processes=tuple(one for rank, work in enumerate(works) for one in work.processes(rank, is_last=is_last)),
            last_lines={},
        )
        for is_last in (False, True)
    )
    running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
    evidence: Evidence = seen(
        *(pod(rank, **runs(age)) for rank in range(len(works))),
        job=v1_job(len(works) - 1, conditions=running),
        logs=tuple(logs)
        or tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.4", at=silent, every=0.2) for rank in range(len(works))),
        samples=samples,
    )
    return diagnose(msgspec.structs.replace(evidence, at=NOW - timedelta(seconds=logs_read)), NOW)
