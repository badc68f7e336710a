"""A folder with a v1 job, an Experiment and a script that speaks of v1."""

from __future__ import annotations

from pathlib import Path

import pytest

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
