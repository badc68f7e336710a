"""kill -9 of any process at any time: pods are adopted, nothing runs twice, nothing acknowledged is lost."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import eventually

pytestmark = pytest.mark.timeout(180)
about_the_supervisor = pytest.mark.embedded(why="a real control plane has no supervisor of ours")
about_its_files = pytest.mark.embedded(why="what `up` writes and `down` leaves")


def job(namespace: str, script: str, **run_policy: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "any:1", "command": ["sh", "-c", script]}
    replica = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, **replica}}, "runPolicy": run_policy},
    }


def state(cluster: Any, namespace: str) -> str:
    rows = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout or "[]")
    return str(rows[0]["state"]) if rows else ""


@pytest.mark.parametrize("component", ["node", "operator", "apiserver"])
def test_a_job_survives_the_death_of(component: str, cluster: Any, namespace: str, tmp_path: Path) -> None:
    started, go = tmp_path / "started", tmp_path / "go"
    os.chmod(tmp_path, 0o777)
    script = f"echo $$ >> {started}; while [ ! -e {go} ]; do sleep 0.1; done"
    mount = {"volumes": [{"name": "t", "hostPath": {"path": str(tmp_path)}}]}
    wanted = job(namespace, script)
    pod = wanted["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod.update(mount)
    pod["containers"][0]["volumeMounts"] = [{"name": "t", "mountPath": str(tmp_path)}]
    cluster.apply(wanted)
    eventually(lambda: state(cluster, namespace) == "Running" and started.exists())
    cluster.kill(component)
    go.touch()
    eventually(lambda: state(cluster, namespace) == "Succeeded")
    assert len(started.read_text().splitlines()) == 1, "the script ran exactly once"


@about_the_supervisor
def test_a_killed_supervisor_is_replaced_by_the_next_up(cluster: Any, namespace: str) -> None:
    cluster.apply(job(namespace, "sleep 3"))
    eventually(lambda: state(cluster, namespace) == "Running")
    record = cluster.state.read_record()
    os.kill(record.supervisor, signal.SIGKILL)
    eventually(lambda: not cluster.state.is_locked())
    again = cluster.shunter("up")
    assert again.returncode == 0, again.stderr
    assert cluster.state.read_record().server == record.server, "kubeconfigs stay valid"
    eventually(lambda: state(cluster, namespace) == "Succeeded")


@about_the_supervisor
def test_a_second_up_says_it_is_already_up(cluster: Any) -> None:
    again = cluster.shunter("up")
    assert again.returncode == 0
    assert "already up" in again.stderr
    assert f"export KUBECONFIG={cluster.state.kubeconfig}" in again.stdout


@about_its_files
def test_the_kubeconfig_is_private(cluster: Any) -> None:
    assert cluster.state.kubeconfig.stat().st_mode & 0o777 == 0o600


@about_its_files
def test_logs_survive_down_and_a_running_pod_is_started_again(cluster: Any, namespace: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.chmod(tmp_path, 0o777)
    unfinished = job(namespace, f"echo run; while [ ! -e {go} ]; do sleep 0.1; done")
    pod = unfinished["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod["volumes"] = [{"name": "t", "hostPath": {"path": str(tmp_path)}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "t", "mountPath": str(tmp_path)}]
    finished = job(namespace, "echo last words")
    finished["metadata"]["name"] = "finished"
    cluster.apply(finished, unfinished)

    def states() -> dict[str, str]:
        return {row["name"]: row["state"] for row in json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)}

    eventually(lambda: states() == {"finished": "Succeeded", "j": "Running"})
    assert cluster.shunter("down").returncode == 0
    assert cluster.shunter("up").returncode == 0
    assert "last words" in cluster.shunter("logs", "finished", "-n", namespace).stdout
    go.touch()
    eventually(lambda: states() == {"finished": "Succeeded", "j": "Succeeded"})
    container = cluster.get("pod", "j-master-0", "-n", namespace)["status"]["containerStatuses"][0]
    assert container["restartCount"] == 1
