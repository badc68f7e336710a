"""What a scan finds, line by line, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from migrate.moving.moves import pytorch_job
from shunter.api.meta import Json
from shunter.migrate.catalogue import topics
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.emit.files import stream
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.options import Options
from shunter.migrate.survey.scan.references import findings_of

CASES = yaml.load((Path(__file__).parent / "cases.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_findings_of_a_file(case: Json) -> None:
    found = [
        f"{finding.place.line}:{finding.place.column} {finding.topic.id}" for finding in findings_of(case["file"], case["text"])
    ]
    assert found == case.get("found", [])
    said = "\n".join(f"{finding.message} {finding.advice}" for finding in findings_of(case["file"], case["text"]))
    for part in case.get("says", []):
        assert part in said


def test_every_topic_of_the_scan_is_in_a_case() -> None:
    found = {line.split()[1] for case in CASES for line in case.get("found", [])}
    assert {id for id in topics() if id.startswith("SCAN")} == found


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("sum.py", f"import kubeflow.training\nx = {' + '.join(['a'] * 2000)}\nos.system('kubectl get pytorchjobs')\n"),
        ("signs.py", f"import kubeflow.training\nx = {'-' * 100_000}1\nos.system('kubectl get pytorchjobs')\n"),
        ("deep.json", f"{'[' * 100_000}\n\nkubectl get pytorchjobs\n"),
        ("deep.yaml", f"a: {'? ' * 100_000}\n\nkubectl get pytorchjobs\n"),
    ],
    ids=["a sum", "signs", "brackets", "keys within keys"],
)
def test_of_what_is_nested_too_deep_the_lines_are_looked_at(file: str, text: str) -> None:
    assert ("SCAN016", 3) in {(finding.topic.id, finding.place.line) for finding in findings_of(file, text)}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.sh", "kubectl --token=eyJsecret get pytorchjobs\n"),
        (
            "a.py",
            """from kubeflow.training import TrainingClient
address = "https://me:eyJsecret@example.org"
TrainingClient().create_job(name="a", train_func=f, env_vars={"HF_TOKEN": "eyJsecret"}, base_image="me:eyJpublic")
""",
        ),
    ],
    ids=["a command", "arguments of a call"],
)
def test_credentials_are_not_told(file: str, text: str) -> None:
    said = "".join(f"{finding.message} {finding.advice}" for finding in findings_of(file, text))
    assert "***" in said
    assert "eyJsecret" not in said


def test_a_command_of_many_flags_takes_no_longer_than_others() -> None:
    (finding,) = findings_of("a.sh", f"kubectl {'--a=b ' * 1000}-n team get pytorchjobs; kubectl {'--a=b ' * 1000}kubeflow\n")
    assert finding.topic.id == "SCAN016"


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["wait(d);f.kubeflow='pytorchjobs';", "kubectl get ", "a.b(c)", "bert-worker-1 ", "training_operator_jobs "]
)
def test_a_long_line_takes_no_longer_than_many_short_ones(part: str) -> None:
    """With one look at all of it from each place it would take hours."""
    found = findings_of("main.js", f"kubeflow {part * (500_000 // len(part))}\n")
    assert len({finding.topic.id for finding in found}) <= 1


def test_what_conversion_says_of_where_a_result_comes_from_speaks_of_no_v1() -> None:
    unreadable = {**pytorch_job("other", "team"), "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": "many"}}}}
    written = yaml.safe_dump_all([pytorch_job("bert", "team"), unreadable])
    given = Input((text_file(written, "jobs.yaml"),))
    text = stream(given, converted(given.convertible, Options()), {})
    assert "is not converted" in text
    assert "migrate.shunter.dev/source: PyTorchJob" in text
    assert findings_of("out.yaml", text) == []
    assert [finding.topic.id for finding in findings_of("out.yaml", text.replace("migrate.shunter.dev/source", "note"))] == [
        "SCAN023"
    ]


@pytest.mark.integration
def test_the_command_shows_equal_findings_together_with_every_place(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("from kubeflow.training import TrainingClient\n")
    command = [sys.executable, "-m", "shunter.cli.main", "migrate", "scan", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "a.py:1:31: warning SCAN002 The v1 SDK is imported: TrainingClient of kubeflow.training.",
        "    Import kubeflow.trainer (package kubeflow).",
        "    SCAN002: 3 objects, also at b.py:1:31, c.py:1:31.",
    ]
    assert "3 files scanned: 0 errors, 3 warnings" in done.stderr
