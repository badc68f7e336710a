"""Ranks that wait for their GPUs, in C and on a CPU, where stacks do not show it; and computations that look nearly the same."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW, v1_job
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Frame, Process, Sample
from shunter.doctor.verdicts import Verdict

SECONDS = 5.0


class Work(NamedTuple):
    """What a rank is seen to do in two samples."""

    line: int
    state: str = "R"
    cpu: float = SECONDS
    switches: int = 1
    uses_cuda: bool | None = True
    next_line: int = 0
    """Where it is in the second sample; 0 for the same line."""

    def process(self, rank: int, *, is_last: bool) -> Process:
        line = self.next_line or self.line if is_last else self.line
        return Process(
            pod=pod(rank)["metadata"]["name"],
            container="pytorch",
            pid=1,
            rank=rank,
            frames=(Frame(function="train", file="train.py", line=line, is_own=True),),
            state=self.state,
            cpu_seconds=30 + self.cpu * is_last,
            switches=100 + self.switches * is_last,
            uses_cuda=self.uses_cuda,
        )


WAITS = Work(line=66)
RESTS = Work(line=37, state="S", cpu=0.0)
COMPUTES = Work(line=20)


def found(*works: Work, silent: float = 40.0) -> list[Verdict]:
    samples = tuple(
        Sample(
            at=NOW - timedelta(seconds=0 if is_last else SECONDS),
            processes=tuple(work.process(rank, is_last=is_last) for rank, work in enumerate(works)),
            last_lines={},
        )
        for is_last in (False, True)
    )
    running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
    evidence: Evidence = seen(
        *(pod(rank, **runs()) for rank in range(len(works))),
        job=v1_job(len(works) - 1, conditions=running),
        logs=tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.4", at=silent, every=0.2) for rank in range(len(works))),
        samples=samples,
    )
    return list(diagnose(evidence, NOW).verdicts)


def test_a_rank_that_rests_while_the_others_wait_for_their_gpus_is_named() -> None:
    (verdict,) = found(WAITS, RESTS, WAITS)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H01", (1,), (0, 2), "likely")


@pytest.mark.parametrize(
    ("works", "why"),
    [
        ((WAITS, RESTS), "one that runs may compute what the other waits for"),
        ((WAITS._replace(uses_cuda=None), RESTS, WAITS._replace(uses_cuda=None)), "whether they use CUDA is not known"),
    ],
    ids=["two ranks", "CUDA unknown"],
)
def test_what_may_be_a_computation_is_only_possible(works: tuple[Work, ...], why: str) -> None:
    (verdict,) = found(*works)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("H01", (1,), "possible"), why


NOBODY: dict[str, tuple[Work, ...]] = {
    "none uses CUDA": (WAITS._replace(uses_cuda=False), RESTS, WAITS._replace(uses_cuda=False)),
    "one prepares data on its CPU while the others wait for their GPUs": (WAITS, COMPUTES, WAITS),
    "one prepares data on its CPU, at several lines": (WAITS, COMPUTES._replace(next_line=21), WAITS),
    "one prepares data on its CPU while the others rest": (COMPUTES, RESTS, RESTS),
    "one prepares data on its CPU while the others compute": (COMPUTES, Work(line=30), Work(line=31)),
    "those that run are at different lines": (WAITS, RESTS, COMPUTES),
    "one that runs goes on": (WAITS, RESTS, WAITS._replace(next_line=67)),
    "those that run give up their CPUs now and then": (WAITS._replace(switches=20), RESTS, WAITS._replace(switches=20)),
    "those that run rest half the time": (WAITS._replace(cpu=2.5), RESTS, WAITS._replace(cpu=2.5)),
    "the one that others may wait for reads a disk": (WAITS, RESTS._replace(state="D"), WAITS),
    "all wait for their GPUs": (WAITS, WAITS, WAITS),
    "all rest": (RESTS, RESTS, RESTS),
}


@pytest.mark.parametrize("works", NOBODY.values(), ids=list(NOBODY))
def test_nobody_is_accused(works: tuple[Work, ...]) -> None:
    assert found(*works) == []


def test_nobody_is_accused_before_the_ranks_have_been_silent_for_long() -> None:
    assert found(WAITS, RESTS, WAITS, silent=9.0) == []
