"""Trees of kustomizations: what an overlay builds, converted, is what its conversion builds."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml

from shunter.migrate import batch
from shunter.migrate.emit import files
from shunter.migrate.gitops.kustomize import build
from shunter.migrate.gitops.overlays import Tree, converted_tree
from shunter.migrate.gitops.square import build_of, converted_build, differences
from shunter.migrate.options import Options
from shunter.migrate.source.provider import read

JOB = """\
# The job of all stages.
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: bert
spec:
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [torchrun, train.py]
            env:
            - {name: STAGE, value: base}
    Worker: *role
"""
BASE = {"base/job.yaml": JOB, "base/kustomization.yaml": "resources:\n- job.yaml\n"}
OVERLAYS = {
    "prefix and image": """\
        namePrefix: dev-
        resources:
        - ../base
        images:
        - {name: example.org/train, newTag: "2"}
        """,
    "strategic merge patch in a file": """\
        resources:
        - ../base
        patches:
        - path: patch.yaml   # more workers
        """,
    "json patch with a target, in a namespace": """\
        namespace: nlp
        nameSuffix: -dev
        resources:
        - ../base
        patches:
        - target: {kind: PyTorchJob, name: bert}
          patch: |-
            - op: replace
              path: /spec/pytorchReplicaSpecs/Worker/replicas
              value: 5
            - op: replace
              path: /spec/pytorchReplicaSpecs/Master/restartPolicy
              value: Never
            - op: replace
              path: /spec/pytorchReplicaSpecs/Worker/restartPolicy
              value: Never
        """,
    "the older field for patches": """\
        resources:
        - ../base
        patchesStrategicMerge:
        - patch.yaml
        """,
}
PATCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, labels: {stage: dev}}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 3}
"""


def written(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def converted(root: Path) -> Tree:
    given = read([str(root)])
    results = batch.converted(given.jobs, Options(), [source.value for source in given.others])
    texts = {path.relative_to(root): text for path, text in files.in_place(given, results).items()}
    return converted_tree(root, given, texts, Options(), build)


def put(tree: Tree, root: Path) -> None:
    for path, text in tree.texts.items():
        if text is None:
            (root / path).unlink()
        else:
            (root / path).write_text(text)


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
def test_converting_and_building_commute(tmp_path: Path, overlay: str) -> None:
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": overlay, "dev/patch.yaml": PATCH})
    wanted = converted_build(build(root / "dev"), Options())
    tree = converted(root)
    put(tree, root)
    seen = build_of(build(root / "dev"))
    assert differences(wanted, seen) == []
    assert [finding.topic.id for finding in tree.findings if finding.is_blocking] == []
    assert "kubeflow.org/v1\n" not in "".join(path.read_text() for path in root.rglob("*.yaml") if path.name != "patch.yaml")


def test_a_patch_of_a_job_is_no_job_and_goes_when_it_is_not_needed_any_more(tmp_path: Path) -> None:
    overlay = OVERLAYS["strategic merge patch in a file"]
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": overlay, "dev/patch.yaml": PATCH})
    assert [source.place().source for source in read([str(root)]).jobs] == [str(root / "base/job.yaml")]
    tree = converted(root)
    assert tree.texts[Path("dev/patch.yaml")] is None
    patch = yaml.safe_load(tree.texts[Path("dev/trainjob-patches.yaml")] or "")
    assert patch["spec"] == {"trainer": {"numNodes": 4}}
    assert patch["metadata"] == {"name": "bert", "labels": {"stage": "dev"}}
    (told,) = (finding for finding in tree.findings if finding.topic.id == "KUSTOMIZE001")
    assert str(told.place).endswith("dev/kustomization.yaml:4:3")


def test_a_replacement_aimed_at_v1_is_told_with_its_place_and_fails_the_square(tmp_path: Path) -> None:
    overlay = """\
        resources:
        - ../base
        - settings.yaml
        replacements:
        - source: {kind: ConfigMap, name: settings, fieldPath: data.image}
          targets:
          - select: {kind: PyTorchJob}
            fieldPaths:
            - spec.pytorchReplicaSpecs.Master.template.spec.containers.0.image
            - spec.pytorchReplicaSpecs.Worker.template.spec.containers.0.image
        """
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {image: 'other:1'}\n"
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": overlay, "dev/settings.yaml": settings})
    told = [(finding.topic.id, finding.place.line, finding.message) for finding in converted(root).findings]
    assert told == [
        ("KUSTOMIZE002", 4, "replacements names kinds of v1."),
        ("KUSTOMIZE004", 1, "After the conversion, TrainJob bert differs in spec.trainer.image."),
    ]


def test_converting_a_converted_tree_changes_nothing(tmp_path: Path) -> None:
    overlay = OVERLAYS["json patch with a target, in a namespace"]
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": overlay})
    put(converted(root), root)
    again = converted(root)
    assert again.texts == {}
    assert again.findings == []


def test_a_kustomization_that_cannot_be_built_is_told_and_the_rest_is_converted(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "broken/kustomization.yaml": "resources:\n- nowhere.yaml\n"})
    tree = converted(root)
    assert [finding.topic.id for finding in tree.findings] == ["KUSTOMIZE003"]
    assert "TrainJob" in (tree.texts[Path("base/job.yaml")] or "")
