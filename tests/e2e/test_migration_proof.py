"""The upper stages of the proof: a cluster is asked without storing anything, and a converted job runs for a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, Cluster, eventually

pytestmark = pytest.mark.timeout(240)

EXAMPLES = REPOSITORY / "examples" / "v1"


def stages(cluster: Cluster, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """What `validate` says, by object."""
    done = cluster.shunter("migrate", "validate", "-o", "json", *arguments, timeout=200)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return {proof["object"]: proof for proof in json.loads(done.stdout)}


def scratch_namespaces(cluster: Cluster) -> list[str]:
    items = cluster.get("namespaces")["items"]
    return [item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith("shunter-dry-run-")]


def test_a_cluster_takes_every_example_in_a_dry_run_and_keeps_nothing(cluster: Cluster) -> None:
    found = stages(cluster, "-f", str(EXAMPLES), "--server", "--elastic-nodes=max", "--accept=MPI001")
    refused = {title: proof["rungs"][-1]["findings"] for title, proof in found.items() if proof["reached"] != "server"}
    assert refused == {}
    eventually(lambda: not scratch_namespaces(cluster))


def test_what_a_cluster_refuses_is_told(cluster: Cluster) -> None:
    arguments = ("-f", str(EXAMPLES / "pytorch-simple.yaml"), "--server", "--scratch-namespace=not-there")
    (proof,) = stages(cluster, *arguments, code=3).values()
    assert proof["reached"] == "pods"
    assert {finding["id"] for finding in proof["rungs"][-1]["findings"]} == {"PROOF015"}


def test_objects_of_a_cluster_are_compared(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    job = next(obj for obj in yaml.safe_load_all((EXAMPLES / "pytorch-simple.yaml").read_text()) if obj["kind"] == "PyTorchJob")
    job["metadata"]["namespace"] = namespace
    job["spec"]["runPolicy"] = {"suspend": True}
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    made = cluster.shunter("migrate", "convert", "-f", str(file))
    assert made.returncode == 0, made.stderr
    cluster.apply(job)
    objects = [obj for obj in yaml.safe_load_all(made.stdout) if obj]
    cluster.apply(*objects)
    arguments = ("migrate", "diff", job["metadata"]["name"], "--cluster", "-n", namespace, "--against=cluster")
    same = cluster.shunter(*arguments)
    assert same.returncode == 0, same.stdout + same.stderr
    cluster.kubectl("delete", "trainjob", job["metadata"]["name"], "-n", namespace)
    train_job = next(obj for obj in objects if obj["kind"] == "TrainJob")
    train_job["spec"]["trainer"]["args"] = ["--other"]
    cluster.apply(train_job)
    different = cluster.shunter(*arguments)
    assert different.returncode == 1, different.stdout + different.stderr
    assert "program of container node" in different.stdout


@pytest.mark.embedded(why="the stage is about the embedded cluster")
def test_a_converted_job_runs_one_step_on_the_embedded_cluster(cluster: Cluster) -> None:
    (proof,) = stages(
        cluster, "-f", str(REPOSITORY / "examples/migration/regression.yaml"), "--smoke", "--steps-env=STEPS"
    ).values()
    assert proof["reached"] == "smoke", proof["rungs"][-1]
    assert proof["rungs"][-1]["note"].startswith("Succeeded after")
    eventually(lambda: not scratch_namespaces(cluster))
