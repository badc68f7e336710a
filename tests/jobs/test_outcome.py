"""How the end of a job is told."""

from __future__ import annotations

import pytest

from shunter.jobs.outcome import without_repeated_log

FAULT = "pod j-0, container node: Error, exit code 2"
HEADLINE = "node-0: exit code 2: error: no such bucket"
LOGS = {
    "the line that the headline quotes": (["| error: no such bucket"], [FAULT]),
    "another line": (["| killed"], [FAULT, "| killed"]),
    "more than that line": (["| step 1", "| error: no such bucket"], [FAULT, "| step 1", "| error: no such bucket"]),
}


@pytest.mark.parametrize(("log", "told"), LOGS.values(), ids=LOGS)
def test_a_log_of_one_line_is_told_once(log: list[str], told: list[str]) -> None:
    assert list(without_repeated_log([FAULT, *log], HEADLINE)) == told
