"""The report for people who decide: its verdict and figures, and that its pages are whole and say what they should."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import PurePath
from typing import Any

import pytest
from msgspec.structs import replace

from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.documents import UNPARSABLE
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import NOT_TEXT
from shunter.migrate.findings import Finding, Place
from shunter.migrate.options import Options
from shunter.migrate.proof.rungs.runs import RunComparison
from shunter.migrate.survey.briefing import decision, sdk_page
from shunter.migrate.survey.briefing.facts import Facts, Readiness, gathered
from shunter.migrate.survey.briefing.front_page import LISTED_FAULTS
from shunter.migrate.survey.briefing.job_commands import commands
from shunter.migrate.survey.briefing.site import files
from shunter.migrate.survey.scan.references import findings_of
from shunter.migrate.survey.sdk_moves import MOVES

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXT = """\
# Trains every night.
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME, namespace: team-a}
spec:
  nprocPerNode: "1"
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      restartPolicy: POLICY
      template:
        spec:
          containers:
          - name: pytorch
            image: trainer:1   # pinned
            command: [torchrun, "<train>.py"]
            resources: {limits: {nvidia.com/gpu: 1}}
    Worker: *role
"""


def job(name: str, policy: str = "OnFailure", *, finished: bool = False) -> SourceObject:
    (source,) = text_file(TEXT.replace("NAME", name).replace("POLICY", policy), f"{name}.yaml").documents[0].objects
    if not finished:
        return source
    condition = {"type": "Succeeded", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    status = {"startTime": "2026-11-21T10:00:00Z", "conditions": [condition]}
    return SourceObject({**source.value, "status": status}, "cluster")


def facts(jobs: Sequence[SourceObject], **more: Any) -> Facts:
    return gathered(converted(jobs, Options()), {}, NOW, **more)


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


UNREAD = Finding(UNPARSABLE, "", Place("a<b>.yaml", 3, 1), (), "Not valid YAML: `<img onerror=x>`.")
ODD = Finding(NOT_TEXT, "", Place("notes.yaml", 1, 1), (), "Not UTF-8: byte 0xff in line 1.")


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
    assert "1 finding of the input blocks: there may be jobs that are not seen." in said.sentence
    points = decision.checklist(facts(jobs, faults=[UNREAD], is_live=True))
    done = {point.text: point.is_done for point in points}
    assert not done["All v1 jobs inventoried and classified"]
    assert not done["No unfinished v1 job left"]
    assert decision.metrics(facts(jobs, faults=[UNREAD]))[0].tone != "good"


def test_a_fault_that_does_not_block_or_is_taken_on_leaves_the_verdict() -> None:
    assert decision.verdict(facts([], faults=[ODD, UNREAD._replace(suppressed="a template")])).word == "Nothing to move"


def test_the_front_page_names_what_could_not_be_read() -> None:
    written = dict(files(facts([], faults=[ODD, UNREAD])))
    page, text = written[PurePath("index.html")], written[PurePath("index.md")]
    assert page.index("a&lt;b&gt;.yaml:3:1") < page.index("notes.yaml")
    assert "<img" not in page
    assert text.index("a\\<b\\>.yaml:3:1: **blocking** INPUT011") < text.index("notes.yaml:1:1: warning INPUT007")
    assert "<img" not in text.replace("\\<", "")


def test_of_very_many_faults_the_front_page_counts_the_rest() -> None:
    written = dict(files(facts([], faults=[ODD] * 100)))
    for name in ("index.html", "index.md"):
        assert written[PurePath(name)].count("INPUT007") == LISTED_FAULTS
        assert f"And {100 - LISTED_FAULTS} more" in written[PurePath(name)]


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


@pytest.fixture(scope="module")
def site() -> dict[PurePath, str]:
    references = findings_of("a.sh", "kubectl get pytorchjobs\n")
    sources = [job("a"), job("a"), job("b", "Always"), job("c", finished=True)]
    return dict(files(facts(sources, references=references, is_live=True)))


def test_every_page_is_whole_and_every_link_leads_to_a_page(site: dict[PurePath, str]) -> None:
    assert sum(path.parent == PurePath("jobs") for path in site) == 4
    for path, text in site.items():
        if path.suffix == ".html":
            page = _Page()
            page.feed(text)
            assert page.open == [], path
            assert "script" not in page.seen
            for link in page.links:
                target = path.parent / link
                assert PurePath(*(target.parts[2:] if ".." in target.parts else target.parts)) in site, (path, link)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_shows_both_manifests_with_their_comments(site: dict[PurePath, str]) -> None:
    page = site[PurePath("jobs/team-a-pytorchjob-a.html")]
    assert "kind: PyTorchJob" in page
    assert "kind: TrainJob" in page
    assert page.count("# pinned") == 2
    assert "&lt;train&gt;.py" in page


def test_a_page_says_what_to_type_next(site: dict[PurePath, str]) -> None:
    assert "shunter migrate test pytorchjob/a -n team-a" in site[PurePath("jobs/team-a-pytorchjob-a.html")]
    assert "do not run it again" in site[PurePath("jobs/team-a-pytorchjob-c.html")]
    assert "shunter migrate explain RESTART001" in site[PurePath("jobs/team-a-pytorchjob-b.html")]


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("jobs/a b.yaml", "-f 'jobs/a b.yaml'"),
        ("standard input", "-f -"),
        ("kustomize build overlays/prod", "-k overlays/prod"),
        ("helm release trainers", "--helm-release trainers -n team-a"),
    ],
)
def test_commands_name_the_input_as_it_was_named(source: str, given: str) -> None:
    (found,) = facts([SourceObject(job("a").value, source)]).jobs
    assert f"shunter migrate validate {given}" in commands(found, is_live=False)


def test_the_same_facts_give_the_same_bytes(site: dict[PurePath, str]) -> None:
    references = findings_of("a.sh", "kubectl get pytorchjobs\n")
    sources = [job("c", finished=True), job("b", "Always"), job("a"), job("a")]
    assert dict(files(facts(sources, references=references, is_live=True))) == site


def test_the_sdk_page_shows_every_call_with_code() -> None:
    page, text = sdk_page.html(), sdk_page.markdown()
    for move in MOVES:
        for call in move.calls:
            assert call in page
            assert call in text
        assert move.after.splitlines()[0] in text


def test_an_embedded_job_is_shown_alone_and_to_the_left() -> None:
    inner = "".join(f"    {line}\n" for line in TEXT.splitlines()[1:]).replace("POLICY", "Never")
    text = (
        f"apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {{name: tune}}\nspec:\n  trialSpec:\n{inner}  other: 1\n"
    )
    (found,) = text_file(text, "tune.yaml").documents[0].embedded
    made = gathered(converted([found.job], Options()), {id(found.job): found.host.title}, NOW)
    assert made.jobs[0].before == "\n".join(TEXT.replace("POLICY", "Never").splitlines()[1:]) + "\n"
