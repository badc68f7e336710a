"""What is said of where a job logs to."""

from __future__ import annotations

import pytest

from shunter.cli.tracking import print_server, require_local_server, shown_run
from shunter.cluster import mlflow_server
from shunter.errors import EnvironmentProblem
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.tracking import TrackedRun, tracking

SHOWN = {
    "a run that its program told": (
        TrackedRun("https://mlflow/base/", "team", "train", "7", "c0ffee"),
        "https://mlflow/base/#/experiments/7/runs/c0ffee",
    ),
    "the cluster's own server, as this machine reaches it": (
        TrackedRun("http://mlflow.shunter-system.svc:5055", "team", "train", "7", "c0ffee"),
        "http://127.0.0.1:5055/#/experiments/7/runs/c0ffee",
    ),
    "a run that is not known yet": (TrackedRun("https://mlflow", "team", "train"), "https://mlflow, experiment team, run train"),
    "a manifest without names": (TrackedRun("https://mlflow", "Default", ""), "https://mlflow, experiment Default"),
    "a Secret's": (
        TrackedRun("", "team", "train", "7", "c0ffee"),
        "the MLFLOW_TRACKING_URI of a Secret, experiment team, run train",
    ),
    "a server whose address has a password": (
        TrackedRun("http://ann:s3cret@mlflow:5000", "me@team", "train"),
        "http://***@mlflow:5000, experiment me@team, run train",
    ),
    "ids as the page has them in its link": (
        TrackedRun("https://mlflow", "team", "train", "7", "a b/c"),
        "https://mlflow/#/experiments/7/runs/a%20b%2Fc",
    ),
    "a service that has no such pages": (
        TrackedRun("databricks", "team", "train", "7", "c0ffee"),
        "databricks, experiment team, run train",
    ),
}


@pytest.mark.parametrize(("run", "text"), SHOWN.values(), ids=SHOWN)
def test_a_run_is_shown_as(run: TrackedRun, text: str) -> None:
    assert shown_run(run) == text


def test_without_mlflow_a_server_of_the_cluster_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_server, "is_installed", lambda: False)
    require_local_server("http://mlflow:5000")
    with pytest.raises(EnvironmentProblem) as refused:
        require_local_server("local")
    assert "pip install mlflow" in refused.value.remedy


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("", "MLflow: https://mlflow, the MLFLOW_TRACKING_URI of this shell; --mlflow none leaves it out\n"),
        ("https://other", ""),
        ("none", ""),
    ],
    ids=["of the shell", "of the command line", "none"],
)
def test_a_server_that_only_the_shell_names_is_said(given: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    shell = {"MLFLOW_TRACKING_URI": "https://mlflow"}
    print_server(LaunchOptions(program=Program(path="train.py"), tracking=tracking(given, (), shell)))
    assert capsys.readouterr().err == text
