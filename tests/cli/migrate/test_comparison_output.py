"""The exit codes of comparisons, by the verdict of the runs."""

from __future__ import annotations

import pytest

from shunter.cli.migrate.comparison_output import exit_code
from shunter.migrate.moving.runs.comparison import Aspect, AspectVerdict, Comparison
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.run_verdicts import Verdict


@pytest.mark.parametrize(
    ("losses", "status", "verdict", "code"),
    [
        pytest.param("equal", "equal", "equal", 0, id="equal"),
        pytest.param("within tolerance", "equal", "within tolerance", 0, id="within-tolerance"),
        pytest.param("different", "equal", "different", 5, id="different"),
        pytest.param("different", "not comparable", "different", 5, id="a-difference-beside-what-cannot-be-compared"),
        pytest.param("equal", "not comparable", "not comparable", 1, id="not-comparable"),
    ],
)
def test_exit_codes_follow_the_verdict(losses: AspectVerdict, status: AspectVerdict, verdict: Verdict, code: int) -> None:
    verdicts: dict[str, AspectVerdict] = {"status": status, "world size": "equal", "process group": "equal", "final loss": losses}
    comparison = Comparison(Run(), Run(), tuple(Aspect(name, one, "", "") for name, one in verdicts.items()))
    assert (comparison.verdict, exit_code(comparison)) == (verdict, code)
