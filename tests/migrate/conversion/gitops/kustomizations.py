"""A tree of kustomizations of the tests, and its conversion."""

from __future__ import annotations

import textwrap
from pathlib import Path

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.emit import files
from shunter.migrate.conversion.gitops.kustomize import build
from shunter.migrate.conversion.gitops.overlay_conversion import Build, Tree
from shunter.migrate.conversion.gitops.overlays import converted_tree
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.options import Options

OPTIONS = Options(torch_launch="as-is")
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
PLAIN = JOB.replace("[torchrun, train.py]", "[python, train.py]")


def written(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def converted(root: Path, build: Build = build, options: Options = OPTIONS) -> Tree:
    given = read([str(root)])
    results = batch.converted(given.jobs, options, [source.value for source in given.others])
    texts = {path.relative_to(root): text for path, text in files.in_place(given, results).items()}
    return converted_tree(root, given, texts, options, build)


def put(tree: Tree, root: Path) -> None:
    for path, text in tree.texts.items():
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).write_text(text)
