"""`migrate compare`, `test` and `demo`, as people call them; what needs a cluster is in tests/e2e."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import forked_command
from shunter.cli.migrate.demo import Step, steps

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[3]
WITHOUT_CLUSTER = ("inventory", "convert", "validate")


def migrate(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "KUBECONFIG": "", "SHUNTER_STATE_DIR": "/nowhere"}
    return forked_command.shunter(*arguments, environment=environment, cwd=REPOSITORY)


NOBODY_LISTENS = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "away",
    "contexts": [{"name": "away", "context": {"cluster": "away", "user": "away"}}],
    "clusters": [{"name": "away", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "away", "user": {}}],
}
MISTAKES = {
    "no job": ((), "0 jobs are named"),
    "three jobs": (("a", "b", "c"), "3 jobs are named"),
    "a baseline and two jobs": (("--baseline", "x.json", "a", "b"), "2 jobs are named beside --baseline"),
    "a baseline that is not there": (("--baseline", "x.json", "a"), "x.json: no such file"),
    "a pattern without a group": (("a", "--metric", "loss=x"), "no group captures the value"),
}


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_compare_says_what_is_wrong_with_its_arguments(arguments: tuple[str, ...], said: str) -> None:
    done = migrate("migrate", "compare", *arguments)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [("test", "bert", "--export"), ("compare", "bert", "--export-baseline")])
def test_a_result_that_could_not_be_written_is_told_before_anything_is_done(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(NOBODY_LISTENS))
    for path, why in ((tmp_path / "file" / "run.json", "File exists"), (tmp_path, "Is a directory")):
        done = migrate("migrate", *arguments, str(path), "--kubeconfig", str(kubeconfig))
        assert done.returncode == 1
        assert f"{path}: cannot be written: {why}" in done.stderr


def test_a_trial_needs_values_for_what_it_sets() -> None:
    done = migrate("migrate", "test", "bert", "--env", "MAX_STEPS")
    assert done.returncode == 1
    assert "--env MAX_STEPS: no value is given" in done.stderr


def examined(results: Path) -> dict[str, Step]:
    planned = steps(Path("examples"), results)
    return {step.title: step for step in planned if step.arguments[1] in WITHOUT_CLUSTER}


@pytest.mark.parametrize("title", examined(Path()))
def test_a_step_of_the_demo_ends_as_it_says(title: str, tmp_path: Path) -> None:
    step = examined(tmp_path)[title]
    done = migrate(*step.arguments)
    assert done.returncode == step.expected, done.stderr


def test_the_trap_of_the_demo_is_named_with_its_fix() -> None:
    refused = next(step for step in steps(Path("examples"), Path()) if "rejected" in step.title)
    said = migrate(*refused.arguments).stderr
    assert "blocking TORCH001" in said
    assert "3 pods would train 3 models" in said
    assert "--torch-launch=auto" in said


def test_the_report_of_the_demo_can_be_written_without_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text(json.dumps({
        "verdict": "equal", "original": "PyTorchJob training/regression", "successor": "TrainJob training/regression-trial",
        "aspects": [{"name": "status", "verdict": "equal", "original": "a", "successor": "a", "why": "", "decides": True}],
    }))  # fmt: skip
    report = next(step for step in steps(Path("examples"), tmp_path) if step.title == "The report")
    done = migrate(*report.arguments)
    assert done.returncode == report.expected, done.stderr
    assert (tmp_path / "report/index.html").exists()
