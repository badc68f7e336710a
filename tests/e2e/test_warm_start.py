"""Ranks that start warm: torch is imported, nothing else of them is different, and what starts cold says so to people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import Cluster

RANK = """
import json, os, sys, time
begun = time.process_time()
had = "torch" in sys.modules
import numpy, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(total)
matrix = torch.rand(200, 200)
ones = numpy.ones((200, 200))
print(json.dumps({
    "had": had, "seconds": time.process_time() - begun, "total": total.item(), "numpy": numpy.random.rand(),
    "product": bool(torch.isfinite(matrix @ matrix).all()), "blas": float((ones @ ones).sum()),
    "seed": torch.initial_seed(), "threads": torch.get_num_threads(), "rank": os.environ["RANK"],
}), flush=True)
dist.destroy_process_group()
"""


def job(name: str, namespace: str, modules: str) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": {"shunter.dev/warm": modules}},
        "spec": {"containers": [{"name": "pytorch", "image": "any", "command": ["python", "-c", RANK]}]},
    }
    replica = {"replicas": 1, "restartPolicy": "Never", "template": template}
    return pytorch_job(name, namespace, {"Master": replica, "Worker": replica})


def pytorch_job(name: str, namespace: str, replicas: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def manifest(place: Path, name: str, command: list[str]) -> str:
    """The file of a job of one rank that says nothing of warm starts."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "any", "command": command}]}}
    one = pytorch_job(name, "default", {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}})
    (place / f"{name}.json").write_text(json.dumps(one))
    return str(place / f"{name}.json")


def trained(cluster: Cluster, name: str, namespace: str, modules: str) -> list[dict[str, Any]]:
    """What both ranks of a job said, once it has succeeded."""
    cluster.apply(job(name, namespace, modules))
    cluster.kubectl("wait", "--for=condition=Succeeded", f"pytorchjob/{name}", "-n", namespace, "--timeout=100s", timeout=110)
    pods = (f"{name}-master-0", f"{name}-worker-0")
    return [json.loads(cluster.kubectl("logs", pod, "-n", namespace).splitlines()[-1]) for pod in pods]


@pytest.fixture
def cold_cluster(cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    if request.config.getoption("--warm"):
        pytest.skip("the cluster of this run was started with --warm")
    return cluster


def test_ranks_that_start_warm_train_as_cold_ones(cold_cluster: Cluster, namespace: str) -> None:
    """The first job of an environment starts cold and says so in an event, which `describe` shows; the second starts warm."""
    first = trained(cold_cluster, "first", namespace, "torch")
    described = cold_cluster.shunter("describe", "first", "-n", namespace).stdout
    second = trained(cold_cluster, "second", namespace, "torch")
    assert [rank["had"] for rank in first] == [False, False]
    assert "ColdStart" in described
    assert "Container started warm" not in described
    assert "was started cold: no process had imported torch with its environment" in described
    assert [rank["had"] for rank in second] == [True, True], cold_cluster.shunter("describe", "second", "-n", namespace).stdout
    described = cold_cluster.shunter("describe", "second", "-n", namespace).stdout
    assert "Container started warm" in described
    assert "ColdStart" not in described
    for rank in (*first, *second):
        assert rank["total"] == 3.0
        assert (rank["product"], rank["blas"]) == (True, 200.0**3)
    # Without a seed of the program's every rank draws other numbers, as in processes that import for themselves.
    for drawn in ("numpy", "seed"):
        assert len({rank[drawn] for rank in (*first, *second)}) == 4
    assert len({rank["threads"] for rank in (*first, *second)}) == 1
    assert max(rank["seconds"] for rank in second) < min(rank["seconds"] for rank in first)


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A cluster that a command may start."""
    cluster = EmbeddedCluster(tmp_path / "state")
    yield cluster
    cluster.down()


@pytest.mark.embedded(why="is about the cluster that `shunter run` starts")
def test_run_starts_a_cluster_whose_ranks_start_warm(stopped: EmbeddedCluster, tmp_path: Path) -> None:
    """And says of those that could not that they started cold."""
    program = "import sys; print('imported' if 'decimal' in sys.modules else 'to be imported')"
    done = stopped.shunter("run", "--warm", "decimal", manifest(tmp_path, "warm", ["python", "-c", program]))
    assert done.returncode == 0, done.stderr
    assert "started an embedded cluster" in done.stderr
    assert "[master-0] imported" in done.stdout + done.stderr
    assert "ColdStart" not in done.stderr
    done = stopped.shunter("run", "--warm", "decimal", manifest(tmp_path, "cold", ["sh", "-c", "echo ran"]))
    assert done.returncode == 0, done.stderr
    assert "ColdStart: Container pytorch was started cold: its program sh is not Python" in done.stderr
    (tmp_path / "train.py").write_text(f"{program}\nimport os; print(os.environ['RANK'], os.environ['PWD'])")
    done = stopped.shunter("run", "--warm", "decimal", str(tmp_path / "train.py"), "--nodes", "2")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        assert f"[node-{rank}] imported\n[node-{rank}] {rank} /workspace/code\n" in done.stdout
    assert "ColdStart" not in done.stderr
    done = stopped.shunter("run", "--warm", "decimal", str(tmp_path / "train.py"), "--snapshot")
    assert done.returncode == 0, done.stderr
    assert "[node-0] to be imported" in done.stdout
    assert "ColdStart: Container node was started cold: its code is unpacked first" in done.stderr
    done = stopped.shunter("run", "--warm", "decimal,uuid", manifest(tmp_path, "other", ["python", "-c", program]))
    assert done.returncode == 3
    assert "is already up, without --warm decimal,uuid.\n       Run `shunter down` first" in done.stderr
    assert "other" not in stopped.kubectl("get", "pytorchjobs", "-o", "name")


def test_run_does_not_start_cold_what_was_to_start_warm(cold_cluster: Cluster, tmp_path: Path) -> None:
    done = cold_cluster.shunter("run", "--warm", "torch", manifest(tmp_path, "warm", ["python", "-c", "pass"]))
    assert done.returncode == 3
    assert ("without --warm torch" if cold_cluster.kind == "embedded" else "is not an embedded cluster") in done.stderr
    assert "pytorchjob.kubeflow.org/warm" not in cold_cluster.kubectl("get", "pytorchjobs", "-n", "default", "-o", "name")
