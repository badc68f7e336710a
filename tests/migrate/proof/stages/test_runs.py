"""The highest stage: what a comparison of a run of each side said."""

from __future__ import annotations

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.migrate.proof.proving import proof_of
from shunter.migrate.proof.stages.runs import RunComparison, with_comparisons
from shunter.migrate.run_verdicts import Verdict

PROOF = proof_of(converted(pytorch()))
TITLE = PROOF.conversion.source.title


def comparison(verdict: Verdict, original: str = TITLE) -> RunComparison:
    return RunComparison(verdict, original, "TrainJob bert-trial")


@pytest.mark.parametrize("verdict", ["equal", "within tolerance"])
def test_runs_that_agree_reach_the_highest_stage(verdict: Verdict) -> None:
    found = with_comparisons(PROOF, [comparison(verdict)])
    assert (found.reached, found.holds) == ("runs", True)
    assert found.results[-1].note == f"{verdict}: TrainJob bert-trial"


def test_runs_that_differ_refute_even_if_others_agree() -> None:
    found = with_comparisons(PROOF, [comparison("different"), comparison("equal")])
    assert (found.reached, found.is_refuted) == ("pods", True)
    assert [finding.topic.id for finding in found.results[-1].findings] == ["PROOF017"]


def test_runs_that_cannot_be_compared_prove_nothing() -> None:
    found = with_comparisons(PROOF, [comparison("not comparable")])
    assert (found.reached, found.holds, found.is_refuted) == ("pods", False, False)


def test_comparisons_of_other_jobs_say_nothing() -> None:
    assert with_comparisons(PROOF, [comparison("different", "PyTorchJob other")]) == PROOF
    assert with_comparisons(PROOF, []) == PROOF


def test_a_job_of_a_file_is_known_without_its_namespace() -> None:
    assert comparison("equal", "PyTorchJob training/bert").is_about("PyTorchJob bert")
    assert not comparison("equal", "PyTorchJob training/bert").is_about("PyTorchJob other/bert")
    assert not comparison("equal", "PyTorchJob training/bert").is_about("TFJob bert")
