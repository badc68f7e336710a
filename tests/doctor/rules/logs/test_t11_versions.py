"""Versions of NCCL that differ."""

from __future__ import annotations

import pytest

from doctor.rule_cases import says_of_nccl
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(
    ("versions", "cause"),
    [
        (("2.27.5", "2.28.9+cuda13.0", "2.28.9"), "rank 0: NCCL version 2.27.5; ranks 1 and 2: NCCL version 2.28.9+cuda13.0"),
        (("2.28.9", "2.28.9+cuda13.0", "2.27.5"), "ranks 0 and 1: NCCL version 2.28.9+cuda13.0; rank 2: NCCL version 2.27.5"),
        (
            ("2.28.9+cuda12.9", "2.28.9+cuda13.0", "2.28.9"),
            "rank 0: NCCL version 2.28.9+cuda12.9; rank 1: NCCL version 2.28.9+cuda13.0",
        ),
    ],
    ids=["the last", "the first", "two fit"],
)
def test_a_rank_that_says_less_of_its_nccl_has_the_only_version_that_fits(versions: tuple[str, ...], cause: str) -> None:
    (verdict,) = diagnose(says_of_nccl(*versions), NOW).verdicts
    assert (verdict.id, verdict.cause) == ("T11", cause)
    assert len(verdict.pods) == len(verdict.evidence) == len(verdict.ranks) == (3 if "2.27.5" in versions else 2)
