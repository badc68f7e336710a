"""A rank that succeeded while others still needed it."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, traceback
from doctor.rule_cases import RESET
from job_evidence import NOW, ago, v1_job
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(
    ("left", "others", "said", "id"),
    [
        pytest.param(30, 20, RESET, "T15", id="it left before the others lost it"),
        pytest.param(30, 30, RESET, "T15", id="it left in the same second"),
        pytest.param(10, 20, RESET, "T90", id="it left after the others had failed"),
        pytest.param(30, 20, "ValueError: no data", "T00", id="the others have a reason of their own"),
    ],
)
def test_a_rank_that_left_is_the_cause_only_if_the_others_lost_a_peer_after_it(
    left: float, others: float, said: str, id: str
) -> None:
    pods = (pod(0, **ended(1, at=others)), pod(1, **ended(0, at=left)), pod(2, **ended(1, at=others)))
    logs = tuple(log(rank, traceback(said), at=others) for rank in (0, 2))
    verdict = diagnose(failed(*pods, logs=logs), NOW).verdicts[0]
    assert verdict.id == id
    if id == "T15":
        assert (verdict.ranks, verdict.confidence) == ((1,), "likely")


@pytest.mark.parametrize(
    ("left", "confidence"), [(20 + 1799, "likely"), (20 + 1802, "possible"), (20 + 9000, "possible")], ids=str
)
def test_a_rank_that_left_long_before_is_only_possibly_the_cause(left: float, confidence: str) -> None:
    """A rank that had ended two and a half hours before was the likely cause of a lost connection."""
    job = v1_job(2, conditions=[{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": ""}])
    job["metadata"]["creationTimestamp"] = ago(20000)
    pods = (
        pod(0, made=19000, **ended(1, at=20)),
        pod(1, made=19000, **ended(0, at=left)),
        pod(2, made=19000, **ended(1, at=20)),
    )
    logs = tuple(log(rank, traceback(RESET), at=20, every=0.001) for rank in (0, 2))
    (verdict,) = diagnose(failed(*pods, job=job, logs=logs), NOW).verdicts
    assert (verdict.id, verdict.ranks, verdict.confidence) == ("T15", (1,), confidence)
