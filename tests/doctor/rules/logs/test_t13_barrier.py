"""Which ranks did not reach a monitored barrier."""

from __future__ import annotations

import pytest

from doctor.evidences import traceback
from doctor.rule_cases import RESET, all_end
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(
    ("said", "ranks", "cause", "look_at"),
    [
        (
            "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 5000 ms",
            (1,),
            "rank 1 did not reach the barrier within 5 s",
            "its log",
        ),
        (
            "[Rank 0]: Ranks 2, 1 failed to pass monitoredBarrier in 1800000 ms",
            (1, 2),
            "ranks 1 and 2 did not reach the barrier within 1800 s",
            "their logs",
        ),
        (
            "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1500 ms",
            (1,),
            "rank 1 did not reach the barrier within 1.5 s",
            "its log",
        ),
    ],
    ids=["one rank", "several in any order", "a part of a second"],
)
def test_the_ranks_that_are_missing_are_named_not_those_that_waited(
    said: str, ranks: tuple[int, ...], cause: str, look_at: str
) -> None:
    verdict = diagnose(all_end(traceback(f"RuntimeError: {said}"), RESET, RESET), NOW).verdicts[0]
    assert (verdict.id, verdict.ranks, verdict.cause) == ("T13", ranks, cause)
    assert f"did instead: {look_at}, " in verdict.remedy
