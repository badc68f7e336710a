"""Collectives that timed out: which rank is late, in which process group."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, pod, runs, seen
from doctor.rule_cases import says_nccl
from job_evidence import NOW, v1_job
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Log


@pytest.mark.parametrize(
    ("late", "cause", "ranks"),
    [
        (
            says_nccl(1, made=11),
            "rank 1 has not called allreduce (call number 12 of default_pg), in which ranks 0 and 2 timed out",
            (1,),
        ),
        (
            says_nccl(1, made=11, of="3(mesh_tp)"),
            "ranks 0 and 2 waited in a collective until it timed out; rank 1 did not report it",
            (0, 2),
        ),
        (says_nccl(1, made=13), "ranks 0 and 2 waited in a collective until it timed out; rank 1 did not report it", (0, 2)),
    ],
    ids=["in that group", "in another group", "ahead"],
)
@pytest.mark.parametrize("state", ["runs", "failed"])
def test_a_rank_is_late_by_its_own_count_of_calls_in_the_group_that_timed_out(
    late: Log, cause: str, ranks: tuple[int, ...], state: str
) -> None:
    logs = (says_nccl(0), late, says_nccl(2))
    pods = [pod(rank, **(runs() if state == "runs" else ended(134 if rank != 1 else 143))) for rank in range(3)]
    evidence = seen(*pods, logs=logs) if state == "runs" else failed(*pods, logs=logs)
    (verdict,) = [one for one in diagnose(evidence, NOW).verdicts if one.id == "T14"]
    assert (verdict.cause, verdict.ranks) == (cause, ranks)


@pytest.mark.parametrize(("step", "confidence"), [(True, "likely"), (False, "possible")])
def test_a_timeout_of_a_running_job_without_steps_is_only_possible(step: bool, confidence: str) -> None:
    """That it has gone on since would not show."""
    logs = (says_nccl(0, step=step), says_nccl(1, made=11, step=step), says_nccl(2, step=step))
    (verdict,) = diagnose(seen(*(pod(rank, **runs()) for rank in range(3)), logs=logs), NOW).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("T14", (1,), confidence)
    over = diagnose(failed(*(pod(rank, **ended(134)) for rank in range(3)), logs=logs), NOW)
    assert [(one.ranks, one.confidence) for one in over.verdicts if one.id == "T14"] == [((1,), "likely")]


IN_MESH: Json = {"made": 40, "of": "3(mesh_tp)", "op": "ALLGATHER"}


@pytest.mark.parametrize(
    ("others", "cause", "ranks", "confidence"),
    [
        (
            (says_nccl(1, made=11), says_nccl(2), says_nccl(3, **IN_MESH)),
            "rank 1 has not called allreduce (call number 12 of default_pg), in which ranks 0 and 2 timed out",
            (1,),
            "likely",
        ),
        (
            (says_nccl(2), says_nccl(3, **IN_MESH)),
            "ranks 0, 2 and 3 waited in a collective until it timed out; rank 1 did not report it",
            (0, 2, 3),
            "possible",
        ),
        (
            (says_nccl(1, op="BROADCAST"), says_nccl(2), says_nccl(3, **IN_MESH)),
            (
                "ranks timed out in different collectives: rank 1 in broadcast (call number 12), ranks 0 and 2 in allreduce "
                "(call number 12)"
            ),
            (1,),
            "likely",
        ),
        (
            (says_nccl(1, made=11), says_nccl(2, made=39, of="3(mesh_tp)"), says_nccl(3, **IN_MESH)),
            (
                "rank 1 has not called allreduce (call number 12 of default_pg), in which rank 0 timed out; "
                "rank 2 has not called allgather (call number 40 of mesh_tp), in which rank 3 timed out"
            ),
            (1, 2),
            "possible",
        ),
    ],
    ids=["a peer of the late rank waits in another group", "nobody is late", "calls of one group differ", "two are late"],
)
@pytest.mark.parametrize("state", ["runs", "failed"])
def test_only_calls_of_one_process_group_are_compared(
    others: tuple[Log, ...], cause: str, ranks: tuple[int, ...], confidence: str, state: str
) -> None:
    logs = (says_nccl(0), *others)
    if state == "runs":
        running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
        evidence = seen(*(pod(rank, **runs()) for rank in range(4)), job=v1_job(3, conditions=running), logs=logs)
    else:
        over = [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}]
        evidence = failed(*(pod(rank, **ended(134)) for rank in range(4)), job=v1_job(3, conditions=over), logs=logs)
    (verdict,) = [one for one in diagnose(evidence, NOW).verdicts if one.id == "T14"]
    assert (verdict.cause, verdict.ranks, verdict.confidence) == (cause, ranks, confidence)
