"""S01: a rank that the others wait for again and again while the job goes on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from doctor.evidences import log, pod, runs, seen
from doctor.test_corpus import CORPUS
from doctor.working_ranks import Work
from job_evidence import NOW
from shunter.doctor import recording
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Frame, Sample
from shunter.doctor.sampling import may_have_straggler
from shunter.doctor.verdicts import Verdict

CALL = (
    Frame(function="all_reduce", file="torch/distributed/distributed_c10d.py", line=9),
    Frame(function="train", file="train.py", line=70, is_own=True),
)
IN_CALL = Work(line=70, state="S", cpu=0.0, frames=CALL)
SLEEPS, BESIDE = ("S", 63), ("S", 67)
SPINS = ("R", 66)
BUSY, BUSY_NEXT = ("R", 20), ("R", 21)


def paced(*ranks: Sequence[tuple[str, int]], uses_cuda: bool | None = True) -> list[Verdict]:
    """Of ranks that were seen in these states at these lines, while steps were written."""
    return paced_by(*([Work(line=line, state=state, uses_cuda=uses_cuda) for state, line in one] for one in ranks))


def paced_by(*ranks: Sequence[Work]) -> list[Verdict]:
    """Of ranks that were seen at this work, while steps were written."""
    samples = tuple(
        Sample(
            at=NOW - timedelta(seconds=12 - number),
            processes=tuple(work.process(rank, is_last=False) for rank, work in enumerate(seen_at)),
            last_lines={"j-master-0": str(number)},
        )
        for number, seen_at in enumerate(zip(*ranks, strict=True))
    )
    logs = tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.4", at=0.1, every=0.2) for rank in range(len(ranks)))
    evidence = seen(*(pod(rank, **runs()) for rank in range(len(ranks))), logs=logs, samples=samples)
    return list(diagnose(evidence, NOW).verdicts)


WAITER = [SPINS] * 9 + [BESIDE, BUSY, BESIDE]


def test_a_rank_that_keeps_others_waiting_for_their_gpus_is_a_straggler() -> None:
    (verdict,) = paced(WAITER, [SLEEPS] * 11 + [SPINS], WAITER)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("S01", (1,), "likely")
    assert verdict.cause == "rank 1 keeps the others waiting, mostly in train (train.py:63)"
    assert verdict.evidence[0].text == (
        "in a collective, or running at train (train.py:66) like one that waits for its GPU, in 9 of 12 samples"
    )


def test_the_line_of_a_straggler_is_that_of_most_samples_below_calls_that_stay_the_same() -> None:
    """Calls of torch are above the line of the program, as in a backward pass."""
    torch = tuple(Frame(function=name, file=f"torch/{name}.py", line=9) for name in ("run", "backward", "tensor"))
    at = [Frame(function="train", file="train.py", line=line, is_own=True) for line in (40, *[52] * 13)]
    paused = [Work(line=0, state="S", frames=(*torch, frame)) for frame in at]
    (verdict,) = paced_by([IN_CALL] * 14, paused, [IN_CALL] * 14)
    assert (verdict.id, verdict.cause) == ("S01", "rank 1 keeps the others waiting, mostly in train (train.py:52)")


def test_of_two_ranks_one_may_compute_what_the_other_waits_for() -> None:
    (verdict,) = paced(WAITER, [SLEEPS] * 12)
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("S01", (1,), "possible")


HEALTHY: dict[str, tuple[list[tuple[str, int]], ...]] = {
    "all wait for their GPUs": (WAITER, WAITER, WAITER),
    "one is busy on its CPU": (WAITER, [BUSY, BUSY_NEXT] * 6, WAITER),
    "one is busy at one line, and others wait or work elsewhere": (WAITER, [BUSY] * 12, WAITER),
    "one sleeps, and the others work at several lines": ([BUSY, BUSY_NEXT] * 6, [SLEEPS] * 12, [SPINS, BESIDE] * 6),
    "one sleeps, and one of the others as well": (WAITER, [SLEEPS] * 12, [SLEEPS] * 12),
    "all sleep": ([SLEEPS] * 12, [BESIDE] * 12, [SLEEPS] * 12),
}


@pytest.mark.parametrize("ranks", HEALTHY.values(), ids=list(HEALTHY))
def test_no_rank_is_called_a_straggler(ranks: tuple[list[tuple[str, int]], ...]) -> None:
    assert paced(*ranks) == []


@pytest.mark.parametrize("uses_cuda", [False, None])
def test_ranks_that_run_without_cuda_wait_for_no_gpu(uses_cuda: bool | None) -> None:
    assert paced(WAITER, [SLEEPS] * 12, WAITER, uses_cuda=uses_cuda) == []


@pytest.mark.parametrize(("name", "is_taken"), [("gpu-slow-rank", True), ("gpu-healthy", False), ("healthy", False)])
def test_further_samples_are_taken_of_ranks_that_may_wait_for_a_slow_one(name: str, is_taken: bool) -> None:
    evidence = recording.read(CORPUS / name)
    assert may_have_straggler(Case(evidence, evidence.at)) is is_taken
