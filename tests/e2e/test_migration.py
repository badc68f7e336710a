"""Converted PyTorchJobs train as their originals did: the same world, the same loss at every step, judged by `migrate compare`.

Both run side by side with the same seeds. That a conversion which trains N separate models is caught is shown by one that does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, Cluster

PROGRAM, EXAMPLE = yaml.safe_load_all((REPOSITORY / "examples/migration/regression.yaml").read_text())
"""What is trained, and a job that trains it as most do: a Master and two Workers that `python` starts."""
STEP_BY_STEP = ["--relative", "0", "--absolute", "1e-6", "--first-steps", "100"]
TORCHRUN = ["torchrun", "/workspace/train.py"]

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True)
class Case:
    """A v1 job, how it is converted, and how many train together."""

    job: dict[str, Any]
    flags: tuple[str, ...] = ()
    world_size: str = "3"


def replicas(count: int, command: list[str], **env: str) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "any:1",
        "command": command,
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "volumeMounts": [{"name": "program", "mountPath": "/workspace"}],
    }
    pod = {"containers": [container], "volumes": [{"name": "program", "configMap": {"name": PROGRAM["metadata"]["name"]}}]}
    return {"replicas": count, "restartPolicy": "OnFailure", "template": {"spec": pod}}


def pytorch_job(name: str, specs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {**spec, "pytorchReplicaSpecs": specs},
    }


def plain(name: str) -> dict[str, Any]:
    return {**EXAMPLE, "metadata": {"name": name}}


CASES = {
    "by variables that the runtime makes": Case(plain("shim")),
    "by torchrun that the conversion puts before the program": Case(plain("wrapped"), ("--torch-launch=torchrun",)),
    "by the torchrun that was there": Case(
        pytorch_job("torchrun", {"Master": replicas(1, TORCHRUN), "Worker": replicas(1, TORCHRUN)}, nprocPerNode="1"),
        world_size="2",
    ),
    "by torchrun on fixed nodes where it was elastic": Case(
        pytorch_job(
            "elastic",
            {"Worker": replicas(2, TORCHRUN)},
            nprocPerNode="1",
            elasticPolicy={
                "minReplicas": 2,
                "maxReplicas": 3,
                "rdzvBackend": "c10d",
                # Without it a group that could still grow waits for half a minute.
                "rdzvConf": [{"key": "last_call_timeout", "value": "1"}],
                "maxRestarts": 3,
            },
        ),
        ("--elastic-nodes=replicas",),
        world_size="2",
    ),
    "by a runtime with a group for each role where roles differ": Case(
        pytorch_job(
            "unlike",
            {
                "Master": replicas(1, ["python", "/workspace/train.py"]),
                "Worker": replicas(2, ["python", "-u", "/workspace/train.py"], LOGGING="quiet"),
            },
        )
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_converted_job_learns_what_its_original_learned(cluster: Cluster, namespace: str, case: Case) -> None:
    manifests = converted(cluster, case.job, *case.flags)
    trained(cluster, namespace, [case.job, *manifests])
    name = case.job["metadata"]["name"]
    done = cluster.shunter("migrate", "compare", name, "-n", namespace, "-o", "json", *STEP_BY_STEP)
    aspects = judged(done.stdout)
    assert done.returncode == 0, done.stdout
    assert aspects["world size"] == ("equal", case.world_size)
    assert aspects["process group"] == ("equal", "one")
    assert aspects["first steps of loss"][0] in ("equal", "within tolerance")


def test_a_conversion_that_trains_three_models_is_refused_and_its_run_is_told_apart(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The sample of the public guide: every pod of it succeeds."""
    job = plain("alone")
    refused = cluster.shunter("migrate", "convert", "-f", "-", "--torch-launch=as-is", stdin=json.dumps(job))
    assert refused.returncode == 3
    assert "blocking TORCH001" in refused.stderr
    manifests = converted(cluster, job, "--torch-launch=as-is", "--accept=TORCH001")
    trained(cluster, namespace, [job, *manifests])
    baseline = tmp_path / "baseline.json"
    stored = cluster.shunter("migrate", "compare", "alone", "-n", namespace, "--export-baseline", str(baseline))
    assert stored.returncode == 0, stored.stderr
    cluster.kubectl("delete", "pytorchjob", "alone", "-n", namespace)
    done = cluster.shunter("migrate", "compare", "--baseline", str(baseline), "alone", "-n", namespace, "-o", "json")
    assert done.returncode == 5, done.stdout + done.stderr
    aspects = judged(done.stdout)
    assert aspects["status"] == ("equal", "Succeeded")
    assert aspects["world size"] == ("different", "1")
    assert aspects["process group"] == ("different", "3 separate")


def converted(cluster: Cluster, job: dict[str, Any], *flags: str) -> list[dict[str, Any]]:
    """The results of `migrate convert`, which sees the program as well."""
    program = {**PROGRAM, "metadata": {"name": PROGRAM["metadata"]["name"]}}
    stdin = yaml.safe_dump_all([program, job])
    done = cluster.shunter("migrate", "convert", "-f", "-", *flags, stdin=stdin)
    assert done.returncode == 0, done.stderr
    results = [obj for obj in yaml.safe_load_all(done.stdout) if obj and obj["kind"] != "ConfigMap"]
    assert {obj["kind"] for obj in results} >= {"TrainJob"}
    return results


def trained(cluster: Cluster, namespace: str, objects: list[dict[str, Any]]) -> None:
    """Runs jobs side by side until all have succeeded."""
    here = [{**obj, "metadata": {**obj["metadata"], "namespace": namespace}} for obj in (PROGRAM, *objects)]
    done = cluster.shunter("run", "-", stdin=yaml.safe_dump_all(here), timeout=180)
    assert done.returncode == 0, done.stderr + done.stdout


def judged(text: str) -> dict[str, tuple[str, str]]:
    """The verdict on each aspect, and what it is in the successor."""
    return {aspect["name"]: (aspect["verdict"], aspect["successor"]) for aspect in json.loads(text)["aspects"]}
