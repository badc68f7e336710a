"""The highest rung: what a comparison of a run of each side said."""

from __future__ import annotations

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.migrate.proof.ladder import climbed
from shunter.migrate.proof.rungs.runs import RunComparison, compared
from shunter.migrate.run_verdicts import Verdict

LADDER = climbed(converted(pytorch()))
TITLE = LADDER.conversion.source.title


def comparison(verdict: Verdict, original: str = TITLE) -> RunComparison:
    return RunComparison(verdict, original, "TrainJob bert-trial")


@pytest.mark.parametrize("verdict", ["equal", "within tolerance"])
def test_runs_that_agree_reach_the_highest_rung(verdict: Verdict) -> None:
    higher = compared(LADDER, [comparison(verdict)])
    assert (higher.reached, higher.holds) == ("runs", True)
    assert higher.steps[-1].note == f"{verdict}: TrainJob bert-trial"


def test_runs_that_differ_refute_even_if_others_agree() -> None:
    higher = compared(LADDER, [comparison("different"), comparison("equal")])
    assert (higher.reached, higher.is_refuted) == ("pods", True)
    assert [finding.topic.id for finding in higher.steps[-1].findings] == ["PROOF017"]


def test_runs_that_cannot_be_compared_prove_nothing() -> None:
    higher = compared(LADDER, [comparison("not comparable")])
    assert (higher.reached, higher.holds, higher.is_refuted) == ("pods", False, False)


def test_comparisons_of_other_jobs_say_nothing() -> None:
    assert compared(LADDER, [comparison("different", "PyTorchJob other")]) == LADDER
    assert compared(LADDER, []) == LADDER


def test_a_job_of_a_file_is_known_without_its_namespace() -> None:
    assert comparison("equal", "PyTorchJob training/bert").is_about("PyTorchJob bert")
    assert not comparison("equal", "PyTorchJob training/bert").is_about("PyTorchJob other/bert")
    assert not comparison("equal", "PyTorchJob training/bert").is_about("TFJob bert")
