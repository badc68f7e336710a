"""What reports are made of: jobs of which one is hostile and one unreadable, and a fault of the input."""

from __future__ import annotations

from datetime import date

import pytest

from report_contents import job
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.findings import Finding, Place
from shunter.migrate.options import Options


@pytest.fixture(scope="module")
def batch() -> Batch:
    hostile = job("<script>&", unknown={"]]>\x1b | `": "\"'<>&"})
    unreadable = job("broken", runPolicy="none")
    made = converted([job("bert"), hostile, unreadable], Options())
    known = "suppressions:\n- {id: RESTART001, name: bert, reason: it loops <by itself>}"
    return suppression.applied(made, suppression.parsed(known, "migration.yaml"), date(2026, 11, 21)).batch


@pytest.fixture(scope="module")
def faults() -> list[Finding]:
    return [Finding(suppression.UNUSED, "migration.yaml 4", Place("dir with space/migration.yaml", 4, 3), (), "It is unused.")]
