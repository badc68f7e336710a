"""Verdict, waves, checklist and metrics of the report for people who decide."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

import pytest
from msgspec.structs import replace

from migrate.survey.briefing.given_jobs import NOW, ODD, TEXT, UNREAD, facts, job
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.proof.stages.runs import RunComparison
from shunter.migrate.survey.briefing import decision
from shunter.migrate.survey.briefing.facts import Readiness, gathered
from shunter.migrate.survey.briefing.site import files
from shunter.migrate.survey.scan.references import findings_of


@pytest.mark.parametrize(
    ("jobs", "word", "sentence"),
    [
        ([job("a"), job("b")], "Ready", "All of 2 unfinished jobs"),
        ([job("a"), job("b", "Always")], "Partly ready", "1 of 2 unfinished jobs can move as they are; 1 is blocked."),
        ([job("b", "Always")], "Not ready", "0 of 1 unfinished jobs"),
        ([job("a", finished=True)], "Nothing to move", "No unfinished v1 job"),
        ([], "Nothing to move", "No unfinished v1 job"),
    ],
    ids=["all can move", "one is blocked", "all are blocked", "all have finished", "there are none"],
)
def test_the_verdict_follows_from_classes_and_proof(jobs: list[SourceObject], word: str, sentence: str) -> None:
    said = decision.verdict(facts(jobs))
    assert said.word == word
    assert sentence in said.sentence


@pytest.mark.parametrize(
    ("jobs", "word", "tone"),
    [
        ([], "Not all was read", "bad"),
        ([job("a", finished=True)], "Not all was read", "bad"),
        ([job("a")], "Partly ready", "mild"),
        ([job("b", "Always")], "Not ready", "bad"),
    ],
    ids=["no job was seen", "all that were seen have finished", "all that were seen can move", "all that were seen are blocked"],
)
def test_no_verdict_is_good_while_not_all_was_read(jobs: list[SourceObject], word: str, tone: str) -> None:
    said = decision.verdict(facts(jobs, faults=[ODD, UNREAD]))
    assert (said.word, said.tone) == (word, tone)
    assert "1 finding of the input blocks: there may be jobs that were not read." in said.sentence
    points = decision.checklist(facts(jobs, faults=[UNREAD], is_live=True))
    done = {point.text: point.is_done for point in points}
    assert not done["All v1 jobs inventoried and classified"]
    assert not done["No unfinished v1 job left"]
    assert decision.metrics(facts(jobs, faults=[UNREAD]))[0].tone != "good"


def test_a_fault_that_does_not_block_or_is_taken_on_leaves_the_verdict() -> None:
    assert decision.verdict(facts([], faults=[ODD, UNREAD._replace(suppressed="a template")])).word == "Nothing to move"


def test_waves_are_those_of_a_plan_and_none_is_empty() -> None:
    found = decision.waves(facts([job("a"), job("b", "Always"), job("c", finished=True)]))
    assert [(wave.number, wave.name, wave.jobs) for wave in found] == [(1, "standard", 1), (2, "finished", 1), (3, "blocked", 1)]


def test_metrics_have_real_figures() -> None:
    runs = [
        RunComparison("within tolerance", "PyTorchJob team-a/a", "TrainJob team-a/a"),
        RunComparison("different", "PyTorchJob x/y", ""),
    ]
    found = facts([job("a"), job("b"), job("c", "Always")], runs=runs)
    now = {metric.name: metric.now for metric in decision.metrics(found)}
    assert now["Conversion rate"] == "66 % (2 of 3)"
    assert now["Functional parity"] == "100 % (2 of 2 compared pod by pod)"
    assert now["Performance parity"] == "1 run compared: 1 within tolerance"
    lines = found.lines
    assert (lines.before, lines.runtime_count) == (2 * (len(TEXT.splitlines()) - 1), 1)
    assert f"{lines.train_jobs} in TrainJobs" in now["Configuration"]


def test_a_job_whose_runs_differ_is_not_ready() -> None:
    """Of several comparisons the worst counts."""
    runs = [RunComparison(verdict, "PyTorchJob team-a/a", "TrainJob team-a/a") for verdict in ("equal", "different")]
    found = facts([job("a"), job("b")], runs=runs)
    said = decision.verdict(found)
    assert (said.word, said.tone) == ("Partly ready", "mild")
    assert said.sentence == "1 of 2 unfinished jobs can move as they are; 1 needs a look."
    written = dict(files(found))
    assert "pods compared, runs different" in written[PurePath("index.html")]
    assert "PROOF017" in written[PurePath("jobs/team-a-pytorchjob-a.html")]


def test_what_is_taken_on_of_the_proof_leaves_a_job_proved() -> None:
    name = "env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n            args: [--host, $(POD)]"
    text = TEXT.replace("resources:", f"{name}\n            resources:").replace("NAME", "a").replace("POLICY", "OnFailure")
    (source,) = text_file(text, "a.yaml").documents[0].objects
    assert not facts([source]).jobs[0].is_proved

    def mark(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(one._replace(suppressed="it is no host") for one in findings)

    assert not facts([source], mark=mark).jobs[0].is_proved, "the conversion tells of the name that is read as well (POD007)"
    batch = converted([source], Options())
    outcomes = tuple(replace(outcome, findings=mark(outcome.findings)) for outcome in batch.outcomes)
    assert gathered(replace(batch, outcomes=outcomes), {}, NOW, mark=mark).jobs[0].is_proved


def test_nothing_is_called_measured_that_was_not() -> None:
    found = facts([job("a")])
    now = {metric.name: metric.now for metric in decision.metrics(found)}
    assert "not measured yet" in now["Performance parity"]
    assert "in a cluster only" in now["GPU-hours used by these jobs"]
    undecided = {point.text for point in decision.checklist(found) if point.is_done is None}
    assert {"Cluster assessed", "Results and throughput within tolerance", "No unfinished v1 job left"} <= undecided


def test_the_checklist_knows_what_a_scan_found() -> None:
    references = findings_of("a.py", "from kubeflow.training import TrainingClient\n")
    found = {point.text: point for point in decision.checklist(facts([job("a")], references=references))}
    assert found["Other references to v1 found"].figure == "1 reference in 1 file"
    assert found["Pipelines and programs use the new SDK"].is_done is False
    clean = {point.text: point for point in decision.checklist(facts([job("a")], references=[]))}
    assert clean["Pipelines and programs use the new SDK"].is_done is True


@pytest.mark.parametrize(
    ("readiness", "is_done", "figure"),
    [(Readiness("READY"), True, "READY"), (Readiness("PARTIAL", ("a", "b")), False, "PARTIAL; 2 steps to take")],
    ids=["ready", "in part"],
)
def test_the_checklist_knows_what_an_assessment_said(readiness: Readiness, is_done: bool, figure: str) -> None:
    point = decision.checklist(facts([job("a")], readiness=readiness))[0]
    assert (point.is_done, point.figure) == (is_done, figure)
