"""`shunter migrate report`, as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration


def test_a_report_is_written_with_the_runs_that_were_compared(folder: Path) -> None:
    compared = {"verdict": "equal", "original": "PyTorchJob team-a/bert", "successor": "TrainJob team-a/bert", "aspects": []}
    (folder / "runs.json").write_text(json.dumps(compared))
    asked = (
        "report",
        "-f",
        "job.yaml",
        "--accept",
        "RESTART001",
        "--comparison",
        "runs.json",
        "--scan",
        ".",
        "--output-dir",
        "out",
    )
    done = migrate(*asked, folder=folder)
    assert done.returncode == 0
    assert "begin with out/index.html" in done.stderr
    text = (folder / "out" / "index.md").read_text()
    assert "1 run compared: 1 equal" in text
    assert "references.html" in (folder / "out" / "index.html").read_text()
    assert (folder / "out" / "jobs" / "team-a-pytorchjob-bert.html").exists()


def test_a_report_on_files_that_cannot_be_read_says_so_and_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "broken.yaml").write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a\n")
    (tmp_path / "jobs" / "odd.yaml").write_bytes(b"\xff\xfekind")
    done = migrate("report", "-f", "jobs", "--output-dir", "out", folder=tmp_path)
    assert done.returncode == 3
    assert "Nothing to move" not in done.stderr
    for name in ("broken.yaml", "odd.yaml"):
        assert f"jobs/{name}" in done.stderr
        assert name in (tmp_path / "out" / "index.html").read_text()
        assert name in (tmp_path / "out" / "index.md").read_text()


def test_a_file_that_is_no_comparison_is_refused(folder: Path) -> None:
    done = migrate("report", "-f", "job.yaml", "--comparison", "job.yaml", folder=folder)
    assert done.returncode == 1
    assert "--comparison job.yaml" in done.stderr
