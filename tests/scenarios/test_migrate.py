"""Every case of tests/scenarios/migrate: what comes of a v1 job, and what is told of it (migrate_scenarios.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate_scenarios import CASES, cases, expected, seen


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.relative_to(CASES).with_suffix("")))
def test_job_becomes_what_its_case_says(case: Path) -> None:
    told, wanted = seen(case), expected(case)
    assert told.findings == wanted.findings
    assert told.out == wanted.out


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.relative_to(CASES).with_suffix("")))
def test_case_says_in_its_first_line_what_it_is_about(case: Path) -> None:
    assert case.read_text().startswith("# ")
