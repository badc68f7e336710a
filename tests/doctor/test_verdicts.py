"""The exit code of a diagnosis."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.doctor.verdicts import Confidence, NotChecked, Report, Verdict


def verdict(confidence: Confidence) -> Verdict:
    return Verdict(id="T00", title="FAILED", cause="it failed", confidence=confidence)


def not_checked(*, decides: bool, is_refused: bool = True) -> NotChecked:
    return NotChecked(what="stacks", why="they may not be read", rules=("H01",), decides=decides, is_refused=is_refused)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({}, 0),
        ({"verdicts": (verdict("certain"),), "is_well": False}, 1),
        ({"verdicts": (verdict("likely"),), "is_well": False}, 1),
        ({"verdicts": (verdict("possible"),)}, 3),
        ({"verdicts": (verdict("possible"), verdict("likely"))}, 1),
        ({"is_well": False}, 3),
        ({"not_checked": (not_checked(decides=True),)}, 3),
        ({"not_checked": (not_checked(decides=True, is_refused=False),)}, 3),
        ({"not_checked": (not_checked(decides=False),)}, 3),
        ({"not_checked": (not_checked(decides=False, is_refused=False),)}, 0),
    ],
    ids=[
        "well",
        "certain",
        "likely",
        "a hint",
        "a hint and a cause",
        "no cause",
        "refused",
        "not there",
        "refused, only slow",
        "only slow",
    ],
)
def test_1_names_a_cause_and_3_says_that_none_is_known(found: dict[str, Any], code: int) -> None:
    assert Report(job="TrainJob a/b", state="Running", ranks=2, at=datetime(2026, 11, 21, tzinfo=UTC), **found).exit_code == code
