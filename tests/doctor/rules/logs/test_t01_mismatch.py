"""Which ranks called what, by torch's own message."""

from __future__ import annotations

from doctor.evidences import traceback
from doctor.rule_cases import all_end
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


def called(rank: int, operation: str, shape: str) -> str:
    return (
        f"Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType={operation}, TensorShape={shape}, "
        "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float))"
    )


def message(*calls: str) -> str:
    return f"RuntimeError: Detected mismatch between collectives on ranks. {', but '.join(calls)}."


def cause(said: str) -> str:
    (verdict,) = diagnose(all_end(*[traceback(said)] * 3), NOW).verdicts
    assert (verdict.id, verdict.confidence) == ("T01", "certain")
    return verdict.cause


def test_different_operations_are_named_with_their_ranks() -> None:
    text = cause(message(called(1, "BROADCAST", "[8]"), called(0, "ALLREDUCE", "[8]")))
    assert all(word in text for word in ("rank 0", "rank 1", "allreduce", "broadcast"))


def test_different_shapes_of_one_operation_are_named() -> None:
    text = cause(message(called(1, "ALLREDUCE", "[8, 2]"), called(0, "ALLREDUCE", "[8]")))
    assert all(word in text for word in ("[8, 2]", "[8]"))
