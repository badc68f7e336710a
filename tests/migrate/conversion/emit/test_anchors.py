"""A block that stands in a runtime more than once is written once, and read as what it was, by kubectl too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.migrate.conversion.emit import text_of
from shunter.migrate.conversion.emit.anchors import repeated
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.documents import parsed
from shunter.migrate.options import Options

LONG = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("value", "anchors", "aliases"),
    [
        pytest.param({"a": {"env": LONG}, "b": 1}, [], [], id="what-stands-once-has-no-name"),
        pytest.param({"a": {"env": LONG}, "b": {"env": LONG, "c": 1}}, ["a.env &env"], ["b.env *env"], id="equal-blocks-are-one"),
        pytest.param(
            {"a": {"env": LONG}, "b": {"env": LONG}, "c": {"env": LONG, "d": 1}},
            ["a &a", "a.env &env"],
            ["b *a", "c.env *env"],
            id="nothing-inside-of-an-alias-is-named",
        ),
        pytest.param({"a": {"env": LONG}, "b": {"env": LONG}}, ["a &a"], ["b *a"], id="the-largest-block-is-named-and-no-other"),
        pytest.param(
            {"a": {"env": LONG}, "b": {"env": LONG, "x": 1}, "c": {"env": LONG[:1]}, "d": {"env": LONG[:1], "y": 1}},
            ["a.env &env", "c.env &env-2"],
            ["b.env *env", "d.env *env-2"],
            id="names-are-numbered",
        ),
        pytest.param({"a": {"env": LONG}, "b": {"env": LONG[::-1]}}, [], [], id="lists-of-another-order-are-not-equal"),
        pytest.param({"a": {"x": 1, "y": True}, "b": {"x": True, "y": 1}}, [], [], id="a-number-is-no-boolean"),
    ],
)
def test_repeated_blocks(value: dict[str, Any], anchors: list[str], aliases: list[str]) -> None:
    found = repeated(value, lambda mapping, path: [*mapping], lambda value, path: isinstance(value, dict | list))
    assert [f"{'.'.join(map(str, path))} &{name}" for path, name in found.anchors.items()] == anchors
    assert [f"{'.'.join(map(str, path))} *{name}" for path, name in found.aliases.items()] == aliases


JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: bert
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
          - name: pytorch
            image: train:1
            resources:
              limits: {cpu: "1"}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: train:2
            env:  # a comment
            - {name: MINE, value: "1"}
          - name: side
            image: side:1
"""


def converted(text: str) -> Conversion:
    (document,) = parsed(text, "job.yaml")
    (source,) = document.objects
    return convert(source, Options())


def test_both_roles_and_their_sidecars_are_told_of_each_other_once() -> None:
    text = text_of(converted(JOB.replace('  # a comment\n            - {name: MINE, value: "1"}', " []")))
    assert text.count("name: MASTER_ADDR") == 1
    assert text.count("*env") == 2


def test_a_block_with_a_comment_of_the_user_is_written_in_full() -> None:
    conversion = converted(JOB)
    text = text_of(conversion)
    assert "# a comment" in text
    assert [*yaml.safe_load_all(text)] == [conversion.runtime, conversion.train_job]


@pytest.mark.integration
def test_kubectl_reads_what_is_written(tmp_path: Path) -> None:
    conversion = converted(JOB)
    (tmp_path / "job.yaml").write_text(text_of(conversion))
    (tmp_path / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    kubectl = Path(sys.executable).parent / "kubectl"
    built = subprocess.run([kubectl, "kustomize", tmp_path], capture_output=True, text=True, check=True).stdout
    assert "*env" in text_of(conversion)
    read = {one["kind"]: one for one in yaml.safe_load_all(built)}
    assert json.loads(json.dumps(read)) == {"TrainingRuntime": conversion.runtime, "TrainJob": conversion.train_job}
