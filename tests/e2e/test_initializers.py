"""Datasets and models are there before training begins: upstream's initializer images stand for our program on a process node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import eventually

pytestmark = pytest.mark.timeout(240)

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
READ = "for role in ('dataset', 'model'): print(role, open(f'/workspace/{role}/part/one.txt').read(), flush=True)"


def runtime(shared: Path, source: Path) -> dict[str, Any]:
    """Both initializers, then a node that reads what they brought; all on one volume."""
    workspace = {"name": "initializer", "mountPath": "/workspace"}

    def replicated(name: str, container: dict[str, Any], **more: Any) -> dict[str, Any]:
        volumes = [
            {"name": "initializer", "hostPath": {"path": str(shared)}},
            {"name": "source", "hostPath": {"path": str(source)}},
        ]
        pod = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
        step = "trainer" if name == "node" else name
        template = {"metadata": {"labels": {ANCESTOR: step}}, "spec": {"backoffLimit": 0, "template": {"spec": pod}}}
        return {"name": name, "template": template, **more}

    mounts = [workspace, {"name": "source", "mountPath": "/source", "readOnly": True}]
    initializers = [
        replicated(name, {"name": name, "image": f"ghcr.io/kubeflow/trainer/{name}:v2.3.0", "volumeMounts": mounts})
        for name in ("dataset-initializer", "model-initializer")
    ]
    node = {"name": "node", "image": "python", "command": ["python", "-c", READ], "volumeMounts": [workspace]}
    after = [{"name": job["name"], "status": "Complete"} for job in initializers]
    jobs = [*initializers, replicated("node", node, dependsOn=after)]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "with-initializers"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}},
    }


def trainjob(name: str, namespace: str, **initializer: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": "with-initializers"},
            "initializer": initializer,
            "trainer": {},
        },
    }


@pytest.fixture
def source(cluster: Any, namespace: str, tmp_path: Path) -> Path:
    """What is to be fetched; the runtime is in place."""
    (tmp_path / "source/data/part").mkdir(parents=True)
    (tmp_path / "source/data/part/one.txt").write_text("fetched")
    (tmp_path / "shared").mkdir()
    found = runtime(tmp_path / "shared", tmp_path / "source")
    found["metadata"]["namespace"] = namespace
    cluster.apply(found)
    return tmp_path / "source"


def test_dataset_and_model_are_there_when_training_begins(cluster: Any, namespace: str, source: Path) -> None:
    uri = {"storageUri": "file:///source/data"}
    cluster.apply(trainjob("fetch", namespace, dataset=uri, model=uri))
    cluster.kubectl("wait", "trainjob/fetch", "-n", namespace, "--for=condition=Complete", "--timeout=120s", timeout=150)
    selector = "jobset.sigs.k8s.io/jobset-name=fetch,jobset.sigs.k8s.io/replicatedjob-name"
    log = cluster.kubectl("logs", "-n", namespace, "-l", f"{selector}=node")
    assert log.splitlines() == ["dataset fetched", "model fetched"]
    told = cluster.kubectl("logs", "-n", namespace, "-l", f"{selector}=dataset-initializer")
    assert "Fetching the dataset file:///source/data into " in told
    assert "Complete: 1 file, 7 B fetched in " in told


def test_an_initializer_that_fails_says_why_where_people_look(cluster: Any, namespace: str, source: Path) -> None:
    """Only one of the two fails: what is still at work when a JobSet fails is deleted with all that it said."""
    model = {"storageUri": "file:///source/data"}
    cluster.apply(trainjob("fail", namespace, dataset={"storageUri": "file:///source/none"}, model=model))
    cluster.kubectl("wait", "trainjob/fail", "-n", namespace, "--for=condition=Failed", "--timeout=60s", timeout=90)
    said = "none does not exist. Mount the volume that holds it into the initializer's container."
    eventually(lambda: said in cluster.shunter("describe", "fail", "-n", namespace).stdout)
