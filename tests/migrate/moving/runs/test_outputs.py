"""What is written to where another run can write as well, and whether there is room for another run."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.migrate.moving.runs.headroom import node_obstacles, quota_obstacles
from shunter.migrate.moving.runs.outputs import outputs, shared


def pod(*, volume: dict[str, Any] | None = None, mount: dict[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "node", "image": "any:1", **container}]}
    if volume:
        spec["volumes"] = [{"name": "v", **volume}]
        spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v", **(mount or {})}]
    return {"metadata": {"name": "p", "namespace": "ml"}, "spec": spec}


CLAIM = {"persistentVolumeClaim": {"claimName": "results"}}
CASES = {
    "a claim": (pod(volume=CLAIM), ["PersistentVolumeClaim ml/results"]),
    "a part of a claim": (pod(volume=CLAIM, mount={"subPath": "bert/"}), ["PersistentVolumeClaim ml/results/bert"]),
    "a claim that is mounted read-only": (pod(volume=CLAIM, mount={"readOnly": True}), []),
    "a claim that is read-only itself": (pod(volume={"persistentVolumeClaim": {"claimName": "data", "readOnly": True}}), []),
    "a directory of the node": (pod(volume={"hostPath": {"path": "/mnt/out/"}}), ["hostPath /mnt/out"]),
    "devices of the node": (pod(volume={"hostPath": {"path": "/dev/infiniband"}}), []),
    "a network volume": (pod(volume={"nfs": {"server": "nas", "path": "/x"}}), ["nfs volume /x nas"]),
    "a volume of its own": (pod(volume={"emptyDir": {}}), []),
    "a ConfigMap": (pod(volume={"configMap": {"name": "c"}}), []),
    "a bucket behind a flag": (pod(command=["python", "t.py", "--output-dir=s3://b/out"]), ["address s3://b/out"]),
    "a bucket as a flag's next word": (pod(command=["python", "t.py"], args=["--save", "gs://b/ckpt"]), ["address gs://b/ckpt"]),
    "a bucket in a shell's text": (pod(command=["sh", "-c", "python t.py --ckpt 'gs://b/c' && echo done"]), ["address gs://b/c"]),
    "a bucket in a variable": (pod(env=[{"name": "CHECKPOINT_DIR", "value": "s3://b/c"}]), ["address s3://b/c"]),
    "a bucket by reference": (
        pod(env=[{"name": "ROOT", "value": "s3://b"}], args=["--out=$(ROOT)/c"]),
        ["address s3://b/c", "address s3://b"],
    ),
    "a bucket that is read": (pod(args=["--train-data", "s3://b/imagenet", "--pretrained=s3://b/bert"]), []),
    "a run of a tracker": (pod(env=[{"name": "MLFLOW_RUN_ID", "value": "4f2a"}]), ["run MLFLOW_RUN_ID=4f2a"]),
    "an experiment of a tracker": (pod(env=[{"name": "MLFLOW_EXPERIMENT_NAME", "value": "bert"}]), []),
    "a path of the container's own": (pod(args=["--output-dir", "/tmp/out"]), []),
}


@pytest.mark.parametrize(("one", "expected"), CASES.values(), ids=CASES)
def test_a_pod_writes_to(one: dict[str, Any], expected: list[str]) -> None:
    assert [str(output) for output in outputs(one)] == expected


def test_only_what_both_write_to_is_shared() -> None:
    original = [pod(args=["--out=s3://b/one", "--log=s3://b/logs"])]
    trial = [pod(args=["--out=s3://b/two", "--log=s3://b/logs"])]
    assert [str(output) for output in shared(original, trial)] == ["address s3://b/logs"]


def test_a_part_of_a_claim_that_a_variable_names_is_of_one_run() -> None:
    def writing(run: str) -> dict[str, Any]:
        return pod(volume=CLAIM, mount={"subPathExpr": "runs/$(RUN)"}, env=[{"name": "RUN", "value": run}])

    assert shared([writing("one")], [writing("two")]) == []
    assert [str(output) for output in shared([writing("one")], [writing("one")])] == ["PersistentVolumeClaim ml/results/runs/one"]


def asking(**requests: str) -> dict[str, Any]:
    return pod(resources={"requests": {name.replace("gpu", "nvidia.com/gpu"): amount for name, amount in requests.items()}})


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used or {}}}


QUOTAS = {
    "enough": (quota({"requests.cpu": "10"}, {"requests.cpu": "6"}), []),
    "too little of cores": (quota({"cpu": "10"}, {"cpu": "7"}), ["ResourceQuota q leaves 3 of cpu, the trial requests 4"]),
    "too few GPUs": (
        quota({"requests.nvidia.com/gpu": "2"}, {"requests.nvidia.com/gpu": "1"}),
        ["ResourceQuota q leaves 1 of requests.nvidia.com/gpu, the trial requests 2"],
    ),
    "too few pods": (quota({"pods": "1"}), ["ResourceQuota q leaves 1 of pods, the trial requests 2"]),
    "no JobSet": (
        quota({"count/jobsets.jobset.x-k8s.io": "1"}, {"count/jobsets.jobset.x-k8s.io": "1"}),
        ["ResourceQuota q leaves 0 of count/jobsets.jobset.x-k8s.io, the trial requests 1"],
    ),
    "of another kind of pods": (quota({"pods": "0"}, scopes=["BestEffort"]), []),
    "of pods without a deadline": (
        quota({"pods": "1"}, scopes=["NotTerminating"]),
        ["ResourceQuota q leaves 1 of pods, the trial requests 2"],
    ),
}


@pytest.mark.parametrize(("given", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_leaves(given: dict[str, Any], expected: list[str]) -> None:
    assert list(quota_obstacles([given], [asking(cpu="2", gpu="1"), asking(cpu="2", gpu="1")])) == expected


def test_a_quota_counts_the_limits_of_a_whole_pod() -> None:
    whole = pod()
    whole["spec"]["resources"] = {"limits": {"memory": "10Gi"}}
    found = list(quota_obstacles([quota({"limits.memory": "1Gi"})], [whole]))
    assert found == ["ResourceQuota q leaves 1073741824 of limits.memory, the trial requests 10737418240"]


def node(name: str, *, unschedulable: bool = False, labels: dict[str, str] | None = None, **amounts: str) -> dict[str, Any]:
    allocatable = {key.replace("gpu", "nvidia.com/gpu"): amount for key, amount in amounts.items()}
    spec = {"unschedulable": True} if unschedulable else {}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"allocatable": allocatable}}


def on(name: str, phase: str, one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "spec": {**one["spec"], "nodeName": name}, "status": {"phase": phase}}


NODES = {
    "free": ([node("a", cpu="4", gpu="8")], [], []),
    "taken": (
        [node("a", cpu="4", gpu="8")],
        [on("a", "Running", asking(gpu="7"))],
        ["the nodes have 1 of nvidia.com/gpu left, the trial requests 2"],
    ),
    "taken by what has ended": ([node("a", cpu="4", gpu="8")], [on("a", "Succeeded", asking(gpu="7"))], []),
    "closed": (
        [node("a", cpu="4"), node("b", unschedulable=True, gpu="8")],
        [],
        ["the nodes have 0 of nvidia.com/gpu left, the trial requests 2"],
    ),
    "processes of a machine": ([node("a", labels={"shunter.dev/process": "true"}, cpu="1")], [], []),
}


@pytest.mark.parametrize(("nodes", "running", "expected"), NODES.values(), ids=NODES)
def test_nodes_are(nodes: list[dict[str, Any]], running: list[dict[str, Any]], expected: list[str]) -> None:
    assert list(node_obstacles(nodes, running, [asking(cpu="1", gpu="2")])) == expected
