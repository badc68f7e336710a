"""A job of any kind that runs again under another name."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.launch.copied_job import copied_job

COPIES: dict[str, tuple[str, str]] = {
    "a v1 job that was suspended, with the marks of tools": (
        """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata:
          name: bert
          namespace: vision
          uid: u
          resourceVersion: "5"
          generation: 2
          creationTimestamp: "2026-01-01T00:00:00Z"
          ownerReferences: [{kind: Trial, name: t, uid: o, controller: true}]
          finalizers: [x/y]
          labels: {team: a, kueue.x-k8s.io/queue-name: gold, argocd.argoproj.io/instance: app, app.kubernetes.io/managed-by: Helm}
          annotations:
            kubectl.kubernetes.io/last-applied-configuration: "{}"
            migrate.shunter.dev/plan: p
            note: mine
        spec:
          runPolicy: {suspend: true, cleanPodPolicy: None}
          pytorchReplicaSpecs: {Master: {replicas: 1}}
        status: {conditions: []}
        """,
        """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata:
          name: bert-2
          namespace: vision
          labels: {team: a, kueue.x-k8s.io/queue-name: gold}
          annotations: {note: mine, shunter.dev/rerun-of: bert}
        spec:
          runPolicy: {cleanPodPolicy: None}
          pytorchReplicaSpecs: {Master: {replicas: 1}}
        """,
    ),
    "a TrainJob without what Kueue had patched": (
        """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {name: bert, namespace: vision, uid: u, annotations: {shunter.dev/fabric: efa}}
        spec:
          suspend: false
          runtimeRef: {name: torch-distributed}
          runtimePatches:
          - {manager: kueue.x-k8s.io/manager, time: "2026-01-01T00:00:00Z", trainingRuntimeSpec: {a: 1}}
          - {manager: mine.example.com, time: "2026-01-01T00:00:00Z", trainingRuntimeSpec: {b: 2}}
        status: {conditions: []}
        """,
        """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {name: bert-2, namespace: vision, annotations: {shunter.dev/rerun-of: bert}}
        spec:
          runtimeRef: {name: torch-distributed}
          runtimePatches: [{manager: mine.example.com, trainingRuntimeSpec: {b: 2}}]
        """,
    ),
    "a Job without the selector of its controller": (
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: bert, namespace: vision, uid: u, labels: {job-name: bert, batch.kubernetes.io/controller-uid: u}}
        spec:
          completionMode: Indexed
          suspend: true
          selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}
          template:
            metadata: {labels: {app: x, controller-uid: u, job-name: bert, batch.kubernetes.io/job-name: bert}}
            spec: {containers: []}
        """,
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: bert-2, namespace: vision, annotations: {shunter.dev/rerun-of: bert}}
        spec:
          completionMode: Indexed
          template: {metadata: {labels: {app: x}}, spec: {containers: []}}
        """,
    ),
}


@pytest.mark.parametrize(("job", "copied"), COPIES.values(), ids=COPIES)
def test_a_copy_has_the_spec_and_what_its_users_wrote(job: str, copied: str) -> None:
    original: Json = load_yaml(job)
    assert copied_job(original, "bert-2") == load_yaml(copied)
    assert original == load_yaml(job)


def test_a_job_that_another_controller_manages_stays_with_it() -> None:
    job: Json = load_yaml(COPIES["a TrainJob without what Kueue had patched"][0])
    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert copied_job(job, "bert-2")["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
