"""MPIJobs with a real mpirun, which reaches its workers by the script and the rights that the operator made."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import Cluster, eventually

EXAMPLE = Path(__file__).parents[2] / "examples/v1/mpijob-allreduce.yaml"
MPIRUN = "mpirun --allow-run-as-root --hostfile /etc/mpi/hostfile --mca plm_rsh_agent /etc/mpi/kubexec.sh"

pytestmark = pytest.mark.timeout(180)


def mpi_job(launcher: str, *, workers: int, main_container: str = "") -> dict[str, Any]:
    """An MPIJob whose launcher runs a shell command."""

    def role(replicas: int, **container: Any) -> dict[str, Any]:
        return {
            "replicas": replicas,
            "template": {
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "mpi", "image": "mpi:1", **container}],
                }
            },
        }

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "ring"},
        "spec": {
            **({"mainContainer": main_container} if main_container else {}),
            "runPolicy": {"cleanPodPolicy": "All"},
            "mpiReplicaSpecs": {"Launcher": role(1, command=["sh", "-c", launcher]), "Worker": role(workers)},
        },
    }


def test_processes_in_two_workers_reduce_over_the_network(cluster: Cluster, namespace: str) -> None:
    example = yaml.safe_load(EXAMPLE.read_text())
    example["metadata"]["namespace"] = namespace
    done = cluster.shunter("run", "-", stdin=json.dumps(example), timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {f"Rank {rank}/2 on mpi-allreduce-worker-{rank}: sum=1" for rank in (0, 1)} == {
        line[line.index("Rank") :] for line in done.stdout.splitlines() if "sum=1" in line
    }


def test_a_process_that_fails_in_a_worker_fails_the_job(cluster: Cluster, namespace: str) -> None:
    """The exit status of a worker's process comes back through exec, mpirun and the launcher."""
    cluster.apply({**mpi_job(f"{MPIRUN} -n 2 sh -c 'exit 3'", workers=2, main_container="mpi"), **in_(namespace)})
    cluster.kubectl("wait", "mpijob/ring", "-n", namespace, "--for=condition=Failed", "--timeout=60s")
    job = cluster.get("mpijob", "ring", "-n", namespace)
    assert job["status"]["conditions"][-1]["message"] == "MPIJob ring is failed because 1 Launcher replica(s) failed."
    eventually(lambda: not cluster.get("pods", "-n", namespace)["items"])


def test_the_launcher_may_run_commands_in_its_workers_and_nowhere_else(cluster: Cluster, namespace: str) -> None:
    """Input, both outputs and the exit status come through, by the rights of the launcher's own account."""
    script = (
        "echo typed | /opt/kube/kubectl exec -i ring-worker-0 -- sh -c 'cat; echo $HOSTNAME >&2; exit 7'; echo status $?; "
        "/opt/kube/kubectl exec ring-launcher -- true; echo status $?"
    )
    cluster.apply({**mpi_job(f"exec 2>&1; {script}; sleep 600", workers=1), **in_(namespace)})

    def lines() -> list[str]:
        said = cluster.try_kubectl("logs", "-n", namespace, "ring-launcher", "-c", "mpi").stdout.splitlines()
        return said if sum(line.startswith("status") for line in said) == 2 else []

    said = eventually(lines)
    assert sorted(said[:-2]) == ["command terminated with exit code 7", "ring-worker-0", "status 7", "typed"]
    assert "Error from server (Forbidden)" in said[-2]
    assert 'cannot create resource "pods/exec"' in said[-2]
    assert said[-1] == "status 1"


def test_discovered_hosts_follow_the_workers_that_run(cluster: Cluster, namespace: str) -> None:
    """What elastic Horovod asks: every worker that runs, as many as the job is scaled to, and none that is gone."""
    cluster.apply({**mpi_job("sleep 600", workers=1), **in_(namespace)})
    cluster.kubectl("wait", "mpijob/ring", "-n", namespace, "--for=condition=Running", "--timeout=60s")

    def are_allowed(names: list[str]) -> bool:
        """Whether these are the pods that the launcher may exec into."""
        rules = cluster.get("role", "ring-launcher", "-n", namespace)["rules"]
        return [name for rule in rules for name in rule.get("resourceNames", [])] == names

    def are_listed(names: list[str]) -> bool:
        script: str = cluster.get("configmap", "ring-config", "-n", namespace)["data"]["discover_hosts.sh"]
        return script.split("\n") == ["#!/bin/sh", *(f"echo {name}:1" for name in names)]

    # The file in the launcher follows the ConfigMap within a minute, as on any node.
    for workers in (2, 1):
        patch = f'{{"spec":{{"mpiReplicaSpecs":{{"Worker":{{"replicas":{workers}}}}}}}}}'
        cluster.kubectl("patch", "mpijob", "ring", "-n", namespace, "--type=merge", "-p", patch)
        names = [f"ring-worker-{index}" for index in range(workers)]
        eventually(partial(are_listed, names))
        eventually(partial(are_allowed, names))


def in_(namespace: str) -> dict[str, Any]:
    return {"metadata": {"name": "ring", "namespace": namespace}}
