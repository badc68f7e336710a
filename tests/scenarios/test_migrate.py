"""Every case of tests/scenarios/migrate: what comes of a v1 job, and what is told of it (migrate_scenarios.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate_scenarios import CASES, cases, converted_case, expected, options_of, seen
from shunter.migrate.proof.comparison import compared

TAKEN_ON = {"pytorch/plain-python-as-is-accepted": "PROOF006"}
"""Cases in which somebody insists on what the proof objects to."""


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.relative_to(CASES).with_suffix("")))
def test_job_becomes_what_its_case_says_with_the_pods_of_v1_but_for_what_is_told(case: Path) -> None:
    given, converted = converted_case(case)
    told, wanted = seen(case, given, converted), expected(case)
    assert told.findings == wanted.findings
    assert told.out == wanted.out
    conversions = [one.conversion for one in converted.outcomes if one.conversion and not one.is_blocked]
    findings = [finding for one in conversions for finding in compared(one, options_of(case)).findings]
    objections = {finding.topic.id for finding in findings if finding.is_blocking}
    assert objections == {*filter(None, [TAKEN_ON.get(str(case.relative_to(CASES).with_suffix("")))])}


def test_each_case_says_in_its_first_line_what_it_is_about() -> None:
    assert [str(case) for case in cases() if not case.read_text().startswith("# ")] == []
