"""All ranks wait for one that does not exist."""

from __future__ import annotations

import pytest

from doctor.evidences import traceback
from doctor.rule_cases import JOINED, KEYS, all_end
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(
    ("said", "is_twice"),
    [
        pytest.param([KEYS.format(2)] * 3, True, id="all wait for the same rank"),
        pytest.param([KEYS.format(2), KEYS.format(1), KEYS.format(2)], False, id="they wait for different ranks"),
        pytest.param([KEYS.format(2)], False, id="only one rank says so"),
        pytest.param([JOINED.format(2), *[KEYS.format(0)] * 2], False, id="some have not joined"),
    ],
)
def test_a_rank_is_taken_twice_only_if_all_wait_for_the_same_one(said: list[str], is_twice: bool) -> None:
    verdicts = diagnose(all_end(*map(traceback, said)), NOW).verdicts
    assert ("T06" in [one.id for one in verdicts]) == is_twice
