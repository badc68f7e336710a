"""`shunter migrate validate` and `diff`, as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.migrate.calls import migrate
from proved_job import JOB, NAIVE

pytestmark = pytest.mark.integration


def test_validate_says_how_far_the_proof_reaches() -> None:
    done = migrate("validate", "-f", "-", given=JOB)
    assert done.returncode == 0, done.stderr
    assert "holds PyTorchJob bert: pods (4 pods on each side; differences: " in done.stdout
    assert "1 of 1 reached pods: pods, process groups and endings are those of v1" in done.stderr
    assert "validated" not in done.stdout + done.stderr


def test_validate_says_why_a_proved_result_must_not_be_used() -> None:
    elastic = JOB + "  elasticPolicy: {minReplicas: 1, maxReplicas: 4}\n"
    done = migrate("validate", "-f", "-", given=elastic)
    assert done.returncode == 3
    assert "holds PyTorchJob bert: pods" in done.stdout
    assert "blocking ELASTIC001" in done.stderr
    assert "1 of 1 must not be used as they are" in done.stderr
    done = migrate("validate", "-f", "-", "-o", "json", given=elastic)
    assert json.loads(done.stdout)[0]["blocking"] == ["ELASTIC001"]
    assert migrate("validate", "-f", "-", "--accept", "ELASTIC001", given=elastic).returncode == 0


@pytest.mark.parametrize("verb", ["validate", "diff"])
def test_nothing_is_proved_in_silence(verb: str) -> None:
    done = migrate(verb, "-f", "-", given="apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no job of kubeflow.org/v1 among 1 object: nothing was compared\n"


def test_what_others_wrote_is_not_run_for_ours(tmp_path: Path) -> None:
    (tmp_path / "naive.yaml").write_text(NAIVE)
    done = migrate("validate", "-f", "-", "--against", "naive.yaml", "--smoke", given=JOB, folder=tmp_path)
    assert done.returncode == 1
    assert "--smoke runs the conversions of this command" in done.stderr


def test_a_job_for_which_others_wrote_nothing_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "naive.yaml").write_text(NAIVE)
    both = JOB + "---\n" + JOB.replace("name: bert", "name: gpt")
    done = migrate("diff", "-f", "-", "--against", "naive.yaml", given=both, folder=tmp_path)
    assert done.returncode == 2
    assert "PyTorchJob bert -> TrainJob bert" in done.stdout
    assert "blocking PROOF018 PyTorchJob gpt: there is no TrainJob of its name to compare with. Found: bert." in done.stderr


def test_what_cannot_be_read_of_others_is_told(tmp_path: Path) -> None:
    (tmp_path / "naive.yaml").write_text(NAIVE + "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: [\n")
    done = migrate("validate", "-f", "-", "--against", "naive.yaml", given=JOB, folder=tmp_path)
    assert done.returncode == 3
    assert "naive.yaml:15:1: blocking INPUT011" in done.stderr


def test_a_runtime_beside_that_cannot_be_read_is_the_cause_that_it_is_missing(tmp_path: Path) -> None:
    reference = "{kind: TrainingRuntime, name: torch-1}"
    (tmp_path / "bert.yaml").write_text(NAIVE.replace("\n    name: torch-distributed", f" {reference}"))
    (tmp_path / "runtimes.yaml").write_text("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: [\n")
    done = migrate("validate", "-f", "-", "--against", "bert.yaml", given=JOB, folder=tmp_path)
    assert done.returncode == 1
    assert "its TrainingRuntime torch-1 is missing. runtimes.yaml:3:1: Not valid YAML" in done.stderr


def test_what_is_taken_on_with_a_reason_does_not_refute(tmp_path: Path) -> None:
    ours = migrate("convert", "-f", "-", given=JOB).stdout.replace("train.py", "other.py")
    (tmp_path / "ours.yaml").write_text(ours)
    assert migrate("validate", "-f", "-", "--against", "ours.yaml", given=JOB, folder=tmp_path).returncode == 3
    entry = "suppressions: [{id: PROOF001, name: bert, reason: the script has another name in v2}]\n"
    (tmp_path / "migration.yaml").write_text(entry)
    done = migrate("validate", "-f", "-", "--against", "ours.yaml", given=JOB, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds PyTorchJob bert: pods" in done.stdout
    assert "SUPPRESS001" not in migrate("convert", "-f", "-", given=JOB, folder=tmp_path).stderr


def test_a_comparison_of_runs_is_the_highest_stage(tmp_path: Path) -> None:
    said = {"verdict": "equal", "original": "PyTorchJob team/bert", "successor": "TrainJob team/bert-trial", "aspects": []}
    (tmp_path / "bert.json").write_text(json.dumps(said))
    done = migrate("validate", "-f", "-", "--comparison", "bert.json", given=JOB, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "holds PyTorchJob bert: runs (equal: TrainJob team/bert-trial)" in done.stdout
    (tmp_path / "bert.json").write_text(json.dumps({**said, "verdict": "different"}))
    done = migrate("validate", "-f", "-", "--comparison", "bert.json", given=JOB, folder=tmp_path)
    assert done.returncode == 3
    assert "PROOF017" in done.stderr


def test_forms_for_programs_say_everything() -> None:
    (proof,) = json.loads(migrate("validate", "-f", "-", "-o", "json", given=JOB).stdout)
    assert [stage["name"] for stage in proof["rungs"]] == ["yaml", "schema", "cel", "webhooks", "objects", "pods"]
    (comparison,) = json.loads(migrate("diff", "-f", "-", "-o", "json", given=JOB).stdout)
    assert comparison["alike"]
    assert [(pod["pod"], pod["v2"]) for pod in comparison["pods"]][-1] == ("Worker 2", "bert-node-0-3.bert")


def test_what_cannot_be_read_is_more_than_a_difference() -> None:
    done = migrate("diff", "-f", "-", given=JOB.replace("replicas: 3", "replicas: three"))
    assert done.returncode == 2
    assert "spec.pytorchReplicaSpecs" in done.stderr


def test_only_the_named_jobs_are_looked_at() -> None:
    both = JOB + "---\n" + JOB.replace("name: bert", "name: gpt")
    done = migrate("validate", "gpt", "-f", "-", given=both)
    assert "PyTorchJob gpt" in done.stdout
    assert "PyTorchJob bert" not in done.stdout
    missing = migrate("validate", "t5", "-f", "-", given=both)
    assert missing.returncode != 0
    assert "t5: no such v1 job in the input; there are PyTorchJob/bert, PyTorchJob/gpt" in missing.stderr
