"""`shunter migrate inventory`, `scan`, `explain` and `report`, as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate

pytestmark = pytest.mark.integration

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: team-a}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: POLICY
      template: {spec: {containers: [{name: pytorch, image: trainer:1, command: [torchrun, --nproc_per_node=1, train.py]}]}}
"""
TRIALS = """\
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {name: tune, namespace: team-a}
spec:
  trialTemplate:
    trialSpec:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      spec:
        pytorchReplicaSpecs:
          Master:
            replicas: 1
            restartPolicy: Never
            template: {spec: {containers: [{name: pytorch, image: trainer:1, command: [torchrun, train.py]}]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB.replace("POLICY", "Always"))
    (tmp_path / "trials.yaml").write_text(TRIALS)
    (tmp_path / "nightly.sh").write_text("kubectl get pytorchjobs\n")
    return tmp_path


def test_an_inventory_lists_jobs_with_class_and_reason(folder: Path) -> None:
    done = migrate("inventory", "-f", ".", "--report", "csv=jobs.csv", folder=folder)
    assert done.returncode == 0
    assert "Jobs: 2 (2 PyTorchJob)" in done.stdout
    assert "blocked   PyTorchJob team-a/bert: " in done.stdout
    assert "inside Experiment team-a/tune" in done.stdout
    assert len((folder / "jobs.csv").read_text().splitlines()) == 3


def test_an_inventory_as_json_is_all_that_is_printed(folder: Path) -> None:
    done = migrate("inventory", "-f", "job.yaml", "-o", "json", folder=folder)
    assert json.loads(done.stdout)["classes"]["blocked"] == 1


def test_an_inventory_heeds_what_is_taken_on(folder: Path) -> None:
    (folder / "migration.yaml").write_text("suppressions:\n- {id: RESTART001, reason: it loops}\n")
    done = migrate("inventory", "-f", "job.yaml", "-o", "json", folder=folder)
    assert json.loads(done.stdout)["classes"]["complex"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "no input was named"), (("-f", "job.yaml", "--cluster"), "--cluster goes with no other input")],
    ids=["neither", "both"],
)
@pytest.mark.parametrize("verb", ["inventory", "report"])
def test_one_input_has_to_be_named(verb: str, arguments: tuple[str, ...], message: str, folder: Path) -> None:
    done = migrate(verb, *arguments, folder=folder)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize(("verb", "code"), [("report", 3), ("validate", 3), ("diff", 2)])
def test_a_chart_is_not_taken_for_nothing_to_do(verb: str, code: int, chart: Path) -> None:
    done = migrate(verb, "-f", "chart", folder=chart)
    assert done.returncode == code
    assert "INPUT016" in done.stdout + done.stderr


@pytest.fixture
def chart(folder: Path) -> Path:
    """A folder with a chart in it, which has one v1 job."""
    (folder / "chart").mkdir()
    (folder / "chart" / "Chart.yaml").write_text("name: train\n")
    (folder / "chart" / "job.yaml").write_text(JOB.replace("POLICY", "{{ .Values.policy }}"))
    return folder


def test_an_inventory_of_a_chart_says_that_its_templates_are_not_listed_and_ends_with_3(chart: Path) -> None:
    done = migrate("inventory", "-f", "chart", folder=chart)
    assert (done.returncode, "Jobs: 0" in done.stdout) == (3, True)
    assert "chart/job.yaml:1:1: blocking INPUT016" in done.stderr
    (chart / "migration.yaml").write_text("suppressions:\n- {id: INPUT016, reason: counted elsewhere}\n")
    done = migrate("inventory", "-f", "chart", folder=chart)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_scan_tells_which_entries_of_migration_yaml_are_over(folder: Path) -> None:
    over = "- {id: SCAN016, reason: an old script, expires: 2026-01-01}"
    (folder / "migration.yaml").write_text(f"suppressions:\n{over}\n- {{id: RESTART001, reason: it loops}}\n")
    done = migrate("scan", "--strict", folder=folder)
    assert (done.returncode, "SUPPRESS002" in done.stderr, "SUPPRESS001" in done.stderr) == (2, True, False)


def test_a_scan_tells_lines_and_counts(folder: Path) -> None:
    done = migrate("scan", folder=folder)
    assert done.returncode == 0
    assert "nightly.sh:1:1: warning SCAN016 `kubectl get pytorchjobs` does not see jobs that have moved." in done.stdout
    assert "3 files scanned: 0 errors, 1 warning, " in done.stderr


def test_a_strict_scan_fails_on_warnings_that_nobody_took_on(folder: Path) -> None:
    assert migrate("scan", "--strict", folder=folder).returncode == 2
    (folder / "migration.yaml").write_text("suppressions:\n- {id: SCAN016, file: nightly.sh, reason: an old script}\n")
    assert migrate("scan", "--strict", folder=folder).returncode == 0


def test_a_scan_prints_any_form_of_report(folder: Path) -> None:
    done = migrate("scan", "-o", "sarif", "--report", "junit=scan.xml", folder=folder)
    assert json.loads(done.stdout)["runs"][0]["results"][0]["ruleId"] == "SCAN016"
    assert "SCAN016" in (folder / "scan.xml").read_text()


def test_ids_and_fields_are_explained(folder: Path) -> None:
    done = migrate("explain", "RESTART001", "cleanPodPolicy", folder=folder)
    assert done.returncode == 0
    assert "RESTART001: restartPolicy Always becomes OnFailure" in done.stdout
    assert "spec.runPolicy.cleanPodPolicy" in done.stdout


def test_what_is_unknown_is_said_with_what_is_close(folder: Path) -> None:
    done = migrate("explain", "RESTART01", folder=folder)
    assert done.returncode == 1
    assert "Did you mean RESTART001" in done.stderr


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
