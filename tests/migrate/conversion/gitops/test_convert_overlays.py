"""`shunter migrate convert` on trees of kustomizations, as people call it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import forked_command

pytestmark = pytest.mark.integration

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - {name: pytorch, image: "example.org/train:1", command: [python, train.py]}
    Worker: *role
"""
PATCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 7}}}
"""
OVERLAY = "resources:\n- ../base\npatches:\n- path: big.yaml\n  target: {kind: PyTorchJob}\n"
AS_IS = ("--torch-launch", "as-is")
"""With it the job is blocked by TORCH001."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    texts = {
        "tree/base/job.yaml": JOB,
        "tree/base/kustomization.yaml": "resources:\n- job.yaml\n",
        "tree/dev/kustomization.yaml": OVERLAY,
        "tree/dev/big.yaml": PATCH,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def convert(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return forked_command.shunter("migrate", "convert", "-f", "tree", *arguments, environment=environment, cwd=root)


def test_in_place_the_patch_of_a_blocked_job_stays(root: Path) -> None:
    done = convert(root, "--in-place", "--force", *AS_IS)
    assert done.returncode == 3
    assert "blocking KUSTOMIZE005" in done.stderr
    assert (root / "tree/dev/kustomization.yaml").read_text() == OVERLAY
    assert (root / "tree/dev/big.yaml").read_text() == PATCH


def test_in_another_directory_the_patch_of_a_blocked_job_stays(root: Path) -> None:
    done = convert(root, "--output-dir", "out", *AS_IS)
    assert done.returncode == 3
    assert "blocking KUSTOMIZE005" in done.stderr
    assert (root / "out/dev/kustomization.yaml").read_text() == OVERLAY
    assert (root / "out/dev/big.yaml").read_text() == PATCH


def test_what_is_taken_on_with_a_reason_for_the_job_counts_for_what_overlays_build_of_it(root: Path) -> None:
    (root / "migration.yaml").write_text("suppressions:\n- {id: TORCH001, reason: it finds its rank itself}\n")
    done = convert(root, "--in-place", "--force", *AS_IS)
    assert done.returncode == 0, done.stderr
    assert "numNodes: 8" in (root / "tree/dev/trainjob-patches.yaml").read_text()
    assert not (root / "tree/dev/big.yaml").exists()


def test_a_patch_that_is_left_blocks_until_it_is_taken_on_with_a_reason(root: Path) -> None:
    (root / "tree/dev/kustomization.yaml").write_text(OVERLAY.replace("../base", "../nowhere"))
    done = convert(root, "--in-place", "--force")
    assert done.returncode == 3
    assert "blocking KUSTOMIZE006" in done.stderr
    (root / "migration.yaml").write_text("suppressions:\n- {id: KUSTOMIZE006, reason: nobody builds dev any more}\n")
    done = convert(root, "--in-place", "--force")
    assert done.returncode == 0, done.stderr
    assert "SUPPRESS001" not in done.stderr


def test_of_two_trees_in_one_output_both_are_rewritten(root: Path) -> None:
    for path in (root / "tree").rglob("*.yaml"):
        other = root / "more" / f"{path.parent.name}2" / path.name
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text(path.read_text().replace("../base", "../base2"))
    done = convert(root, "-f", "more", "--output-dir", "out")
    assert done.returncode == 0, done.stderr
    for overlay in ("out/dev", "out/dev2"):
        text = (root / overlay / "kustomization.yaml").read_text()
        assert "PyTorchJob" not in text, overlay
        assert "trainjob-patches.yaml" in text, overlay
