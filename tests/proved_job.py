"""A v1 job, and a TrainJob that others wrote for it."""

from __future__ import annotations

JOB = """\
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
            command: [python, train.py]
    Worker:
      <<: *role
      replicas: 3
"""
NAIVE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: bert
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 4
    image: example.org/train:1
    command: [python, train.py]
"""
