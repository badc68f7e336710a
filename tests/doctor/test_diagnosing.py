"""What a diagnosis costs."""

from __future__ import annotations

import sys
from datetime import timedelta

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Frame, Process, Sample


def hanging(ranks: int) -> Evidence:
    """A job in which all ranks but one wait; each has four DataLoader workers."""
    wait = (
        Frame(function="all_reduce", file="torch/distributed/distributed_c10d.py"),
        Frame(function="main", file="train.py", is_own=True),
    )
    own = (Frame(function="load", file="train.py", line=9, is_own=True),)

    def sample(ago: float) -> Sample:
        found = []
        for rank in range(ranks):
            parts = {"pod": pod(rank)["metadata"]["name"], "container": "pytorch", "rank": rank, "state": "S"}
            found.append(Process(pid=1, frames=own if rank == 1 else wait, **parts))
            found += [Process(pid=number, parent=1, frames=own, **parts) for number in range(2, 6)]
        return Sample(at=NOW - timedelta(seconds=ago), processes=tuple(found))

    running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
    logs = tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.4", at=60, every=1.0) for rank in range(ranks))
    job = v1_job(ranks - 1, conditions=running)
    return seen(*(pod(rank, **runs()) for rank in range(ranks)), job=job, logs=logs, samples=(sample(5), sample(0)))


def calls_made(evidence: Evidence) -> int:
    """Calls of functions that a diagnosis takes: unlike its time, the same on each machine."""
    made = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        report = diagnose(evidence, NOW)
    finally:
        sys.setprofile(before)
    assert [verdict.id for verdict in report.verdicts] == ["H01"]
    return made


def test_a_diagnosis_takes_as_much_more_work_as_there_are_more_ranks() -> None:
    """With eight DataLoader workers for each of 512 ranks it took nine seconds."""
    calls_made(hanging(32))  # compiles patterns
    assert calls_made(hanging(64)) < 2.5 * calls_made(hanging(32))
