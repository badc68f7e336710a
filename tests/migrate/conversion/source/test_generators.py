"""What kustomizations generate: programs that no manifest holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master: &role
      template:
        spec:
          containers:
          - name: pytorch
            image: example.org/train:1
            command: [python, /src/train.py]
            volumeMounts: [{name: src, mountPath: /src}]
          volumes: [{name: src, configMap: {name: src}}]
    Worker: *role
"""
PROGRAM = "import socket; rank = int(socket.gethostname()[-1])"


@pytest.mark.parametrize(
    "generator",
    [
        f"configMapGenerator: [{{name: src, literals: ['train.py={PROGRAM}']}}]",
        "configMapGenerator: [{name: src, files: [train.py=code/main.py]}]",
        "configMapGenerator: [{name: src, files: [code/train.py]}]",
        "configMapGenerator: [{name: src, literals: [lr=1]}, {name: src, behavior: merge, files: [code/train.py]}]",
    ],
)
def test_a_program_of_a_generator_is_read_as_one_of_a_config_map(tmp_path: Path, generator: str) -> None:
    (tmp_path / "code").mkdir()
    for name in ("train.py", "main.py"):
        (tmp_path / "code" / name).write_text(PROGRAM)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "kustomization.yaml").write_text(f"resources: [job.yaml]\n{generator}\n")
    given = read([str(tmp_path)])
    findings = batch.converted(given.convertible, Options(), given.other_objects).findings
    assert [finding.message[:36] for finding in findings if finding.is_blocking] == ["ConfigMap src, train.py line 1: 'imp"]


def test_variables_of_a_secret_that_is_generated_are_known(tmp_path: Path) -> None:
    (tmp_path / "job.env").write_text("# settings\nLR=1\n\nSHARD=${HOSTNAME##*-}\n")
    (tmp_path / "kustomization.yaml").write_text("secretGenerator: [{name: s, namespace: team, envs: [job.env]}]\n")
    (found,) = read([str(tmp_path)]).other_objects
    assert found == {
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "team"},
        "stringData": {"LR": "1", "SHARD": "${HOSTNAME##*-}"},
    }


def test_what_a_generator_names_and_nobody_can_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe\x00")
    generator = "configMapGenerator: [{name: c, files: [weights.bin, nowhere.py]}, {literals: [a=b]}, 7]\n"
    (tmp_path / "kustomization.yaml").write_text(generator)
    assert read([str(tmp_path)]).other_objects == [{"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}]
