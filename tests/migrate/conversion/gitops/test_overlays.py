"""Trees of kustomizations: what an overlay builds, converted, is what its conversion builds."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
import yaml

from faults.disturbance import swept
from migrate.conversion.gitops.kustomizations import BASE, JOB, PLAIN, converted, put, written
from shunter.errors import EnvironmentProblem, InputError
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.gitops.kustomize import build
from shunter.migrate.conversion.gitops.overlay_check import build_of, converted_build, differences
from shunter.migrate.conversion.gitops.overlay_conversion import Build, Tree
from shunter.migrate.conversion.gitops.overlays import with_overlays
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options

pytestmark = pytest.mark.integration

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
    (rewritten,) = (finding for finding in tree.findings if finding.topic.id == "KUSTOMIZE001")
    assert str(rewritten.place).endswith("dev/kustomization.yaml:4:3")


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


def test_an_overlay_is_built_with_its_hidden_files_and_without_what_cannot_be_read(tmp_path: Path) -> None:
    generated = "configMapGenerator:\n- {name: settings, envs: [.env]}\n"
    texts = {"dev/kustomization.yaml": TARGETED + generated, "dev/big.yaml": BIG, "dev/.env": "STAGE=dev\n"}
    root = written(tmp_path, {**BASE, **texts, ".git/config": "", "dev/.cache/big": ""})
    os.mkfifo(root / "dev" / "pipe")
    wanted = converted_build(build(root / "dev"), Options())
    tree = converted(root)
    put(tree, root)
    assert [finding.topic.id for finding in tree.findings] == ["KUSTOMIZE001"]
    assert differences(wanted, build_of(build(root / "dev"))) == []


@pytest.mark.parametrize("linked", ["base/job.yaml", "dev/kustomization.yaml"])
def test_what_links_lead_to_is_not_written_before_the_result_is(tmp_path: Path, linked: str) -> None:
    root = written(tmp_path / "root", {**BASE, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    elsewhere = (root / linked).rename(tmp_path / "elsewhere.yaml")
    (root / linked).symlink_to(elsewhere)
    before = elsewhere.read_text()
    seen: list[str] = []

    def watching(directory: Path) -> str:
        seen.append(elsewhere.read_text())
        return build(directory)

    assert converted(root, watching).texts != {}
    assert set(seen) == {before}
    assert elsewhere.read_text() == before


def test_an_overlay_that_is_named_without_its_base_says_what_to_name(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    messages = [finding.message for finding in converted(root / "dev").findings if finding.topic.id == "KUSTOMIZE003"]
    both = f"{root / 'dev'} builds on {root / 'base'}: name a directory above both with -f, which is converted as one."
    assert messages == [both]


TARGETED = """\
resources:
- ../base
patches:
- path: big.yaml   # as large as it gets
  target: {kind: PyTorchJob}
"""
BIG = PATCH.replace("replicas: 3", "replicas: 7")
"""A job whose program is not told its rank: TORCH001."""


def told(tree: Tree) -> list[tuple[str, str]]:
    return [(finding.topic.id, finding.message) for finding in tree.findings if finding.is_blocking]


def test_the_patches_of_a_job_that_is_not_converted_stay_and_are_told(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "base/job.yaml": PLAIN, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    tree = converted(root)
    assert tree.texts == {}
    ((topic, message),) = told(tree)
    assert topic == "KUSTOMIZE005"
    assert f"patches[0] (big.yaml) of {root / 'dev'} is left" in message
    assert "PyTorchJob bert (TORCH001)" in message


def test_a_patch_stays_when_it_is_what_keeps_the_job_from_being_converted(tmp_path: Path) -> None:
    blocks = """\
        resources:
        - ../base
        patches:
        - target: {kind: PyTorchJob, name: bert}
          patch: |-
            - op: replace
              path: /spec/pytorchReplicaSpecs/Worker/template/spec/containers/0/command
              value: [python, train.py]
            - op: replace
              path: /spec/pytorchReplicaSpecs/Master/template/spec/containers/0/command
              value: [python, train.py]
        """
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": blocks})
    tree = converted(root)
    assert {path.parts[0] for path in tree.texts} == {"base"}
    assert [topic for topic, _ in told(tree)] == ["KUSTOMIZE005", "KUSTOMIZE004"]


def test_patches_of_converted_jobs_are_rewritten_beside_a_job_that_is_not(tmp_path: Path) -> None:
    other = PLAIN.replace("name: bert", "name: bert-large")
    overlay = OVERLAYS["strategic merge patch in a file"]
    base = {"base/job.yaml": JOB, "base/other.yaml": other, "base/kustomization.yaml": "resources:\n- job.yaml\n- other.yaml\n"}
    root = written(tmp_path, {**base, "dev/kustomization.yaml": overlay, "dev/patch.yaml": PATCH})
    tree = converted(root)
    assert told(tree) == []
    put(tree, root)
    built = build_of(build(root / "dev"))
    assert built.objects["TrainJob", "", "bert"]["spec"]["trainer"]["numNodes"] == 4
    assert set(built.unconverted) == {("PyTorchJob", "", "bert-large")}


MIXED = """\
# Of the map.
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {stage: dev}
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {stage: base}\n"
MIXED_OVERLAYS = {
    "in a file": {
        "dev/kustomization.yaml": OVERLAYS["strategic merge patch in a file"],
        "dev/patch.yaml": f"{MIXED}---\n{PATCH}",
    },
    "in a file, in the older field": {
        "dev/kustomization.yaml": OVERLAYS["the older field for patches"],
        "dev/patch.yaml": f"{PATCH}---\n{MIXED}",
    },
    "written out": {
        "dev/kustomization.yaml": "resources:\n- ../base\npatches:\n  - patch: |\n"
        + textwrap.indent(f"{PATCH}---\n{MIXED}", " " * 6)
    },
}


@pytest.mark.parametrize("overlay", MIXED_OVERLAYS.values(), ids=MIXED_OVERLAYS)
def test_of_a_patch_with_several_documents_those_for_other_objects_stay(tmp_path: Path, overlay: dict[str, str]) -> None:
    base = {**BASE, "base/kustomization.yaml": "resources:\n- job.yaml\n- settings.yaml\n", "base/settings.yaml": SETTINGS}
    root = written(tmp_path, {**base, **overlay})
    wanted = converted_build(build(root / "dev"), Options())
    tree = converted(root)
    put(tree, root)
    assert told(tree) == []
    assert differences(wanted, build_of(build(root / "dev"))) == []
    assert "# Of the map." in (root / "dev/kustomization.yaml").read_text()


def test_a_patch_file_stays_while_another_kustomization_names_it(tmp_path: Path) -> None:
    texts = {
        **BASE,
        "plain/job.yaml": PLAIN,
        "plain/kustomization.yaml": "resources:\n- job.yaml\n",
        "dev/kustomization.yaml": TARGETED.replace("big.yaml", "prod/big.yaml"),
        "dev/prod/kustomization.yaml": TARGETED.replace("../base", "../../plain"),
        "dev/prod/big.yaml": BIG,
    }
    tree = converted(written(tmp_path, texts))
    changed = {str(path) for path in tree.texts if path.name not in ("trainjob-kustomizeconfig.yaml", "kustomization.yaml")}
    assert changed == {"base/job.yaml", "dev/trainjob-patches.yaml"}
    assert Path("dev/prod/kustomization.yaml") not in tree.texts
    assert [topic for topic, _ in told(tree)] == ["KUSTOMIZE005"]


def test_a_patch_that_deletes_a_job_deletes_its_train_job(tmp_path: Path) -> None:
    overlay = """\
        resources:
        - ../base
        patches:
        - patch: |
            $patch: delete
            apiVersion: kubeflow.org/v1
            kind: PyTorchJob
            metadata: {name: bert}
        """
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": overlay})
    tree = converted(root)
    put(tree, root)
    assert told(tree) == []
    assert {key[0] for key in build_of(build(root / "dev")).objects} == {"TrainingRuntime"}


UNREWRITTEN = {
    "it cannot be built": ({"dev/kustomization.yaml": TARGETED.replace("../base", "../base\n- nowhere.yaml")}, "cannot be built"),
    "its base is converted already": (
        {
            "dev/kustomization.yaml": TARGETED,
            "base/job.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: bert}\n"
            "spec: {runtimeRef: {name: torch}}\n",
        },
        "it selects none",
    ),
    "the kind is a pattern": (
        {"dev/kustomization.yaml": TARGETED.replace("PyTorchJob", "PyTorchJob|TFJob, name: x")},
        "it selects none",
    ),
    "the target names no kind": (
        {
            "dev/kustomization.yaml": "resources:\n- nowhere.yaml\npatches:\n- target: {name: bert}\n"
            "  patch: '[{op: replace, path: /spec/pytorchReplicaSpecs/Worker/replicas, value: 7}]'\n"
        },
        "cannot be built",
    ),
    "its patch is not there": (
        {"dev/kustomization.yaml": "resources:\n- ../base\npatches:\n- path: gone.yaml\n"},
        "cannot be read, so it is unknown",
    ),
    "it is a component": (
        {
            "dev/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
            "patches:\n- path: big.yaml\n  target: {kind: PyTorchJob}\n"
        },
        "stands in a component",
    ),
}


@pytest.mark.parametrize(("texts", "reason"), UNREWRITTEN.values(), ids=UNREWRITTEN)
def test_patches_of_v1_that_are_not_rewritten_are_told_and_stay(tmp_path: Path, texts: dict[str, str], reason: str) -> None:
    base = {**BASE, "base/kustomization.yaml": BASE["base/kustomization.yaml"], "other/job.yaml": JOB.replace("bert", "gpt")}
    root = written(tmp_path, {**base, "dev/big.yaml": BIG, **texts})
    tree = converted(root)
    ((topic, message),) = told(tree)
    assert topic == "KUSTOMIZE006"
    assert reason in message
    assert Path("dev/big.yaml") not in tree.texts
    kept = (root / "dev/kustomization.yaml").read_text()
    assert (tree.texts.get(Path("dev/kustomization.yaml"), kept) or "").startswith(kept)


def test_without_kustomize_patches_of_v1_block(tmp_path: Path) -> None:
    def none(directory: Path) -> str:
        raise EnvironmentProblem("neither kustomize nor kubectl is installed.")

    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    assert [topic for topic, _ in told(converted(root, none))] == ["KUSTOMIZE006"]


def test_kustomizations_that_are_named_as_files_are_told_of_their_patches(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    given = read([str(root / "dev/kustomization.yaml"), str(root / "base/job.yaml")])
    _, findings = with_overlays(given, {}, {}, Options(), build)
    assert [finding.topic.id for finding in findings if finding.is_blocking] == ["KUSTOMIZE006"]


def test_what_is_taken_on_does_not_block(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": TARGETED.replace("../base", "nowhere"), "dev/big.yaml": BIG})
    tree = converted(root, options=Options(accepted=("KUSTOMIZE006",)))
    assert told(tree) == []
    assert "KUSTOMIZE006" in {finding.topic.id for finding in tree.findings}


NESTED = {
    **BASE,
    "base/second.yaml": JOB.replace("name: bert", "name: gpt"),
    "base/kustomization.yaml": "resources:\n- job.yaml\n- second.yaml\npatches:\n- path: own.yaml\n",
    "base/own.yaml": PATCH.replace("stage: dev", "tier: one"),
    "mid/kustomization.yaml": "namePrefix: mid-\n" + textwrap.dedent(OVERLAYS["strategic merge patch in a file"]),
    "mid/patch.yaml": f"{MIXED}---\n{PATCH}",
    "mid/settings.yaml": SETTINGS,
    "top/kustomization.yaml": "images:\n- {name: example.org/train, newTag: '2'}\n" + TARGETED.replace("../base", "../mid"),
    "top/big.yaml": BIG,
}
NESTED["mid/kustomization.yaml"] = NESTED["mid/kustomization.yaml"].replace("- ../base", "- ../base\n- settings.yaml")


def test_a_run_that_is_killed_between_any_two_writes_and_run_again_ends_the_same_or_says_what_is_missing(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole", NESTED)
    once = remembered()
    tree = converted(whole, once)
    assert told(tree) == []
    put(tree, whole)
    wanted = contents(whole)
    same: list[bool] = []
    for writes in swept(range(len(tree.texts) + 1)):
        root = written(tmp_path / str(writes), NESTED)
        put(Tree(dict(list(tree.texts.items())[:writes])), root)
        again = converted(root, once)
        put(again, root)
        same.append(contents(root) == wanted)
        assert same[-1] or "KUSTOMIZE006" in dict(told(again)), f"killed after {writes} of {list(tree.texts)}"
    assert same[0]
    assert same[-1]
    assert sum(same) > len(same) / 2


def test_bases_are_written_after_all_that_builds_on_them(tmp_path: Path) -> None:
    root = written(tmp_path, {**BASE, "dev/kustomization.yaml": TARGETED, "dev/big.yaml": BIG})
    given = read([str(root)])
    texts = files.in_place(given, batch.converted(given.jobs, Options()))
    whole, _ = with_overlays(given, texts, {root: root}, Options(), build)
    order = [
        "dev/trainjob-patches.yaml",
        "base/trainjob-kustomizeconfig.yaml",
        "dev/trainjob-kustomizeconfig.yaml",
        "dev/big.yaml",
    ]
    order += ["dev/kustomization.yaml", "base/kustomization.yaml", "base/job.yaml"]
    assert [str(path.relative_to(root)) for path in whole] == order


def remembered() -> Build:
    """Builds, those of equal trees only once: a tree that is killed at each write is built very often."""
    known: dict[tuple[str, ...], str] = {}

    def found(directory: Path) -> str:
        texts = contents(directory.parent)
        key = (directory.name, *(part for name in sorted(texts) for part in (name, texts[name])))
        if key not in known:
            try:
                known[key] = build(directory)
            except InputError as error:
                known[key] = f"refused: {error.message}"
        if known[key].startswith("refused: "):
            raise InputError(known[key])
        return known[key]

    return found


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("field", "correction"),
    [
        ("replicas: [{name: bert, count: one}]", "Write a whole number in its replicas.count; it is a text."),
        ("images: foo", "Write a list in its images; it is a text."),
        ("namespace: 3", "Write a text in its namespace; it is a number."),
        ("patches: [a]", "Write a mapping in its patches; it is a text."),
        ("labels: [{pairs: a}]", "Write a mapping in its labels.pairs; it is a text."),
        (
            "generatorOptions: {disableNameSuffixHash: maybe}",
            "Write true or false in its generatorOptions.disableNameSuffixHash; it is a text.",
        ),
        ("configMapGenerator: [{name: a, literals: b}]", "Write a list in its configMapGenerator.literals; it is a text."),
        ("replicaz: 3", "Correct the name replicaz, or remove it."),
        ("resources: [b.yaml]", ""),
    ],
)
def test_what_kustomize_cannot_read_is_corrected_by_its_field(tmp_path: Path, field: str, correction: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"{field}\n")
    with pytest.raises(InputError) as error:
        build(tmp_path)
    assert error.value.message.endswith(correction)
    assert "kustomize cannot build it" in error.value.message
