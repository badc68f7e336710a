"""Converted PyTorchJobs train as their originals did: the same world, the same loss at every step, judged by `migrate compare`.

Both run side by side with the same seeds. That a conversion which trains N separate models is caught is shown by one that does.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, Cluster

PROGRAM, EXAMPLE = yaml.safe_load_all((REPOSITORY / "examples/migration/regression.yaml").read_text())
"""What is trained, and a job that trains it as most do: a Master and two Workers that `python` starts."""
EXAMPLE_NAME = EXAMPLE["metadata"]["name"]
STEP_BY_STEP = ["--relative", "0", "--absolute", "1e-6", "--first-steps", "100"]
TORCHRUN = ["torchrun", "/workspace/train.py"]

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def baseline(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example learns in v1, kept in a file; the job is gone since."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    cluster.create_namespace(name)
    trained(cluster, name, [EXAMPLE])
    file = tmp_path_factory.mktemp("baseline") / "example.json"
    stored = cluster.shunter("migrate", "compare", EXAMPLE_NAME, "-n", name, "--export-baseline", str(file))
    assert stored.returncode == 0, stored.stderr
    cluster.kubectl("delete", "namespace", name, "--wait=false")
    return file


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


CASES = {
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


WAYS = {
    "by variables that the runtime makes": (),
    "by torchrun that the conversion puts before the program": ("--torch-launch=torchrun",),
}


@pytest.mark.parametrize(
    "flags", [pytest.param(flags, id=way, marks=pytest.mark.long if "torchrun" in way else ()) for way, flags in WAYS.items()]
)
def test_a_program_that_relies_on_variables_learns_what_it_learned_in_v1(
    cluster: Cluster, namespace: str, baseline: Path, flags: tuple[str, ...]
) -> None:
    trained(cluster, namespace, converted(cluster, EXAMPLE, *flags))
    done = compared(cluster, namespace, "--baseline", str(baseline), EXAMPLE_NAME, *STEP_BY_STEP)
    assert done.returncode == 0, done.stdout
    assert judged(done)["world size"] == ("equal", "3")
    assert judged(done)["process group"] == ("equal", "one")


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=way, marks=pytest.mark.long if "torchrun" in way else ()) for way, case in CASES.items()]
)
def test_a_converted_job_learns_what_its_original_learned(cluster: Cluster, namespace: str, case: Case) -> None:
    manifests = converted(cluster, case.job, *case.flags)
    trained(cluster, namespace, [case.job, *manifests])
    done = compared(cluster, namespace, case.job["metadata"]["name"], *STEP_BY_STEP)
    assert done.returncode == 0, done.stdout
    assert judged(done)["world size"] == ("equal", case.world_size)
    assert judged(done)["process group"] == ("equal", "one")
    assert judged(done)["first steps of loss"][0] in ("equal", "within tolerance")


def test_a_conversion_that_trains_three_models_is_refused_and_its_run_is_told_apart(
    cluster: Cluster, namespace: str, baseline: Path
) -> None:
    """The sample of the public guide: every pod of it succeeds."""
    refused = cluster.shunter("migrate", "convert", "-f", "-", "--torch-launch=as-is", stdin=json.dumps(EXAMPLE))
    assert refused.returncode == 3
    assert "blocking TORCH001" in refused.stderr
    trained(cluster, namespace, converted(cluster, EXAMPLE, "--torch-launch=as-is", "--accept=TORCH001"))
    done = compared(cluster, namespace, "--baseline", str(baseline), EXAMPLE_NAME)
    assert done.returncode == 5, done.stdout + done.stderr
    assert judged(done)["status"] == ("equal", "Succeeded")
    assert judged(done)["world size"] == ("different", "1")
    assert judged(done)["process group"] == ("different", "3 separate")


def compared(cluster: Cluster, namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return cluster.shunter("migrate", "compare", *arguments, "-n", namespace, "-o", "json")


def converted(cluster: Cluster, job: dict[str, Any], *flags: str) -> list[dict[str, Any]]:
    """The results of `migrate convert`, which sees the program as well."""
    program, wanted = ({**obj, "metadata": {"name": obj["metadata"]["name"]}} for obj in (PROGRAM, job))
    stdin = yaml.safe_dump_all([program, wanted])
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


def judged(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    """The verdict on each aspect, and what it is in the successor."""
    return {aspect["name"]: (aspect["verdict"], aspect["successor"]) for aspect in json.loads(done.stdout)["aspects"]}
