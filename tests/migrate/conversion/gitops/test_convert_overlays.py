"""`shunter migrate convert` on trees of kustomizations, as people call it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

import forked_command
from shunter.migrate.conversion.gitops.kustomize import build

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


def migrate(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return forked_command.shunter("migrate", *arguments, environment=environment, cwd=root)


@pytest.mark.parametrize("verb", ["convert", "validate", "inventory", "diff"])
def test_what_reads_jobs_as_they_stand_says_that_an_overlay_patches_them(root: Path, verb: str) -> None:
    done = migrate(root, verb, "-f", "tree")
    assert done.returncode not in (0, 1)
    assert "tree/dev/kustomization.yaml:4:3: blocking KUSTOMIZE008" in done.stderr


def test_an_overlay_that_builds_on_what_is_converted_and_is_not_named_is_told(root: Path) -> None:
    (root / "prod").mkdir()
    (root / "prod/kustomization.yaml").write_text(OVERLAY.replace("../base", "../tree/dev").replace("big", "../tree/dev/big"))
    for arguments in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)
    assert "prod/kustomization.yaml:4:3: blocking KUSTOMIZE006" in convert(root, "--output-dir", "out").stderr
    done = migrate(root, "convert", "-f", "tree/base", "--output-dir", "out2")
    assert [line.split(":")[0] for line in done.stderr.splitlines() if "blocking KUSTOMIZE006" in line] == [
        "tree/dev/kustomization.yaml",
        "prod/kustomization.yaml",
    ]


def test_images_that_are_set_after_the_conversion_reach_the_train_jobs(root: Path) -> None:
    assert convert(root, "--output-dir", "out").returncode == 0
    for folder in ("out/base", "out/dev"):
        file = root / folder / "kustomization.yaml"
        file.write_text(file.read_text() + 'namePrefix: x-\nimages: [{name: example.org/train, newTag: "2"}]\n')
        built = build(root / folder)
        assert "image: example.org/train:2" in built
        by_kind = {each["kind"]: each for each in yaml.safe_load_all(built)}
        assert by_kind["TrainJob"]["spec"]["runtimeRef"]["name"] == by_kind["TrainingRuntime"]["metadata"]["name"]
        file.write_text(file.read_text().partition("namePrefix")[0])


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: bert}
spec:
  source:
    kustomize:
      patches:
      - target: {kind: PyTorchJob}
        patch: |-
          - {op: replace, path: /spec/pytorchReplicaSpecs/Worker/replicas, value: 9}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: bert}
spec:
  patches:
  - patch: |
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      metadata: {name: bert}
      spec: {pytorchReplicaSpecs: {Worker: {replicas: 5}}}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (APPLICATION, ["KUSTOMIZE007"]),
        (FLUX, ["KUSTOMIZE007"]),
        (APPLICATION.replace("PyTorchJob", "Deployment"), []),
        (APPLICATION.replace("kind: PyTorchJob", "group: kubeflow.org"), ["KUSTOMIZE007"]),
        (APPLICATION.replace("argoproj.io/v1alpha1", "example.org/v1"), []),
    ],
)
def test_patches_that_argo_and_flux_give_are_told(root: Path, text: str, told: list[str]) -> None:
    (root / "app.yaml").write_text(text)
    done = migrate(root, "convert", "-f", "app.yaml")
    assert [line.split()[2] for line in done.stderr.splitlines() if " blocking " in line] == told
    assert done.returncode == (3 if told else 0)


@pytest.mark.parametrize(
    "target", ['{kind: ".*Job"}', "{group: kubeflow.org}", "{version: v1, name: bert}", '{group: ".*kubeflow.org"}']
)
def test_a_patch_whose_target_is_a_pattern_is_rewritten(root: Path, target: str) -> None:
    (root / "tree/dev/big.yaml").unlink()
    patch = '[{"op": "replace", "path": "/spec/pytorchReplicaSpecs/Worker/replicas", "value": 7}]'
    (root / "tree/dev/kustomization.yaml").write_text(
        f"resources:\n- ../base\npatches:\n- target: {target}\n  patch: '{patch}'\n"
    )
    done = convert(root, "--output-dir", "out")
    assert done.returncode == 0, done.stderr
    assert "numNodes: 8" in (root / "out/dev/trainjob-patches.yaml").read_text()
