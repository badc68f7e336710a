"""`shunter doctor` on jobs of every kind of which one pod fails. What a program writes when it raises is the same without its
framework, so none is imported: `tests/doctor/corpus` has recordings of the real ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

Json = dict[str, Any]
SCRIPT = """
echo "step 1 loss 0.5"
case $(hostname) in *-"$FAILS") ;; *) exec sleep 600 ;; esac
echo 'Traceback (most recent call last):'
echo '  File "/app/train.py", line 7, in load'
echo 'ValueError: no data in shard 7'
exit 1
"""
JOBS: dict[str, tuple[str, str, str, dict[str, int], str, list[int], int]] = {
    "tf": ("TFJob", "tfReplicaSpecs", "tensorflow", {"Chief": 1, "Worker": 2, "PS": 1}, "worker-1", [2], 3),
    "eval": ("TFJob", "tfReplicaSpecs", "tensorflow", {"Worker": 1, "Evaluator": 1}, "evaluator-0", [], 1),
    "xgboost": ("XGBoostJob", "xgbReplicaSpecs", "xgboost", {"Master": 1, "Worker": 1}, "worker-0", [1], 2),
    "jax": ("JAXJob", "jaxReplicaSpecs", "jax", {"Worker": 2}, "worker-1", [1], 2),
    "paddle": ("PaddleJob", "paddleReplicaSpecs", "paddle", {"Master": 1, "Worker": 1}, "worker-0", [1], 2),
    "launcher": ("MPIJob", "mpiReplicaSpecs", "mpi", {"Launcher": 1, "Worker": 2}, "launcher", [], 4),
    "mpiworker": ("MPIJob", "mpiReplicaSpecs", "mpi", {"Launcher": 1, "Worker": 2}, "worker-1", [2, 3], 4),
}
"""Of each job its kind, the field of its replicas, its container, its pods by role, which fails, the ranks there, all ranks."""

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("doctor")]


def job(namespace: str, name: str) -> Json:
    kind, field, container, roles, fails, *_ = JOBS[name]
    program = {"name": container, "image": "any:1", "command": ["sh", "-c", SCRIPT], "env": [{"name": "FAILS", "value": fails}]}
    template = {"spec": {"terminationGracePeriodSeconds": 0, "containers": [program]}}
    specs = {role: {"replicas": count, "restartPolicy": "Never", "template": template} for role, count in roles.items()}
    spec: Json = {"runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "None"}, field: specs}
    if kind == "MPIJob":
        spec["slotsPerWorker"] = 2
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": spec}


def test_the_pod_that_fails_is_named_whatever_the_kind_of_its_job(cluster: Cluster, namespace: str) -> None:
    cluster.apply(*(job(namespace, name) for name in JOBS))
    for name, (*_, ranks, count) in JOBS.items():

        def first(name: str = name) -> Json | None:
            done = cluster.shunter("doctor", name, "-n", namespace, "-o", "json", "--no-exec", timeout=120)
            assert done.returncode in (0, 1, 3), done.stderr
            report: Json = json.loads(done.stdout)
            return report if report["verdicts"] and report["verdicts"][0]["id"] == "T00" else None

        report = eventually(first, seconds=90)
        verdict = report["verdicts"][0]
        assert "ValueError: no data in shard 7" in verdict["cause"], name
        assert (verdict["ranks"], verdict["confidence"], report["ranks"]) == (ranks, "certain", count), name
