"""Replacements of kustomizations that read or write fields of jobs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from migrate.conversion.gitops.kustomizations import BASE, PLAIN, converted, put, written
from shunter.migrate.conversion.gitops.kustomize import build
from shunter.migrate.conversion.gitops.overlay_check import build_of, converted_build, differences
from shunter.migrate.options import Options

pytestmark = pytest.mark.integration

SETTINGS_OF_JOBS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {image: 'other:1', workers: '3', x: y}\n"


def with_replacement(root: Path, replacement: str) -> Path:
    overlay = "namePrefix: dev-\nresources:\n- ../base\n- settings.yaml\nreplacements:\n" + textwrap.dedent(replacement)
    return written(root, {**BASE, "dev/kustomization.yaml": overlay, "dev/settings.yaml": SETTINGS_OF_JOBS})


REPLACEMENTS = {
    "into a field of every role": """\
        - source: {kind: ConfigMap, name: settings, fieldPath: data.image}
          targets:
          - select: {group: kubeflow.org, version: v1, kind: PyTorchJob}   # all of them
            fieldPaths:
            - spec.pytorchReplicaSpecs.Master.template.spec.containers.0.image
            - spec.pytorchReplicaSpecs.Worker.template.spec.containers.[name=pytorch].image
        """,
    "out of a field": """\
        - source:
            kind: PyTorchJob
            name: bert
            fieldPath: spec.pytorchReplicaSpecs.Worker.template.spec.containers.[name=pytorch].image
          targets:
          - select: {kind: ConfigMap, name: settings}
            fieldPaths: [data.x]
        """,
    "out of the name, into a value": """\
        - source: {kind: PyTorchJob, name: bert, fieldPath: metadata.name}
          targets:
          - select: {kind: ConfigMap}
            fieldPaths: [data.x]
        """,
}


@pytest.mark.parametrize("replacement", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_replacements_of_fields_that_a_train_job_has_are_aimed_at_it(tmp_path: Path, replacement: str) -> None:
    root = with_replacement(tmp_path, replacement)
    wanted = converted_build(build(root / "dev"), Options())
    tree = converted(root)
    assert tree.findings == []
    put(tree, root)
    assert differences(wanted, build_of(build(root / "dev"))) == []
    text = (root / "dev/kustomization.yaml").read_text()
    assert "PyTorchJob" not in text
    assert ("# all of them" in text) == ("# all of them" in replacement)


def test_a_byte_order_mark_does_not_shift_what_is_rewritten(tmp_path: Path) -> None:
    root = with_replacement(tmp_path, REPLACEMENTS["out of a field"])
    kustomization = root / "dev/kustomization.yaml"
    kustomization.write_text("\ufeff" + kustomization.read_text())
    wanted = converted_build(build(root / "dev"), Options())
    tree = converted(root)
    assert tree.findings == []
    put(tree, root)
    assert kustomization.read_text().startswith("\ufeff")
    assert differences(wanted, build_of(build(root / "dev"))) == []


def test_a_replacement_stays_while_a_job_that_it_may_mean_is_not_converted(tmp_path: Path) -> None:
    root = with_replacement(tmp_path, REPLACEMENTS["into a field of every role"])
    (root / "base/kustomization.yaml").write_text("resources:\n- job.yaml\n- other.yaml\n")
    (root / "base/other.yaml").write_text(PLAIN.replace("name: bert", "name: other"))
    tree = converted(root)
    assert "kind: PyTorchJob}   # all of them" in (tree.texts[Path("dev/kustomization.yaml")] or "")
    assert {finding.topic.id for finding in tree.findings} == {"KUSTOMIZE002", "KUSTOMIZE004"}


def test_a_replacement_of_a_field_that_no_train_job_has_is_told_with_its_place_and_fails_the_square(tmp_path: Path) -> None:
    replacement = """\
        - source: {kind: ConfigMap, name: settings, fieldPath: data.workers}
          targets:
          - select: {kind: PyTorchJob}
            fieldPaths: [spec.pytorchReplicaSpecs.Worker.template.spec.containers.0.env.0.value, spec.runPolicy.x]
            options: {create: true}
        """
    tree = converted(with_replacement(tmp_path, replacement))
    found = [(finding.topic.id, finding.place.line) for finding in tree.findings]
    assert found[0] == ("KUSTOMIZE002", 5)
    assert {topic for topic, _ in found[1:]} == {"KUSTOMIZE004"}
    assert "PyTorchJob" in (tree.texts[Path("dev/kustomization.yaml")] or "")
