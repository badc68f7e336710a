"""`migrate test`: a trial beside its original, on a running cluster. The programs only print what training programs print."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster, eventually

PRINTS = "echo rank=$RANK world_size=$WORLD_SIZE; for step in 1 2 3; do echo step=$step loss=0.$step$RANK$OFFSET; done"
OF_TRIALS = "trainjobs,trainingruntimes,jobsets,jobs,pods"

pytestmark = pytest.mark.timeout(240)


def job(namespace: str, script: str = PRINTS, **pod: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "any:1", "command": ["sh", "-c", script], **pod.pop("container", {})}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container], **pod}
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
    }


def test_a_trial_is_run_compared_and_removed(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    cluster.apply(job(namespace))
    cluster.kubectl("wait", "pytorchjob/bert", "-n", namespace, "--for=condition=Succeeded", "--timeout=50s")
    baseline = tmp_path / "trial.json"
    done = cluster.shunter("migrate", "test", "bert", "-n", namespace, "--export", str(baseline))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"PyTorchJob {namespace}/bert and TrainJob {namespace}/bert-trial: equal" in done.stderr
    eventually(lambda: not trials(cluster, namespace))
    assert json.loads(baseline.read_text())["state"] == "Succeeded"
    assert cluster.get("pytorchjob", "bert", "-n", namespace)["status"]["replicaStatuses"]["Master"]["succeeded"] == 1


def test_a_trial_is_compared_although_its_run_can_no_longer_be_written(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """While it runs, a file comes in the place of the folder."""
    folder = tmp_path / "runs"
    cluster.apply(job(namespace, f"{PRINTS}; sleep 3"))
    cluster.kubectl("wait", "pytorchjob/bert", "-n", namespace, "--for=condition=Succeeded", "--timeout=50s")
    command = [*SHUNTER, "migrate", "test", "bert", "-n", namespace, "--export", str(folder / "trial.json")]
    running = subprocess.Popen(command, env=cluster.environment, cwd=REPOSITORY, text=True, stderr=subprocess.PIPE)
    try:
        eventually(lambda: "pod" in " ".join(trials(cluster, namespace)))
        folder.rmdir()
        folder.touch()
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    assert running.returncode not in (0, 5), said
    assert f"PyTorchJob {namespace}/bert and TrainJob {namespace}/bert-trial: equal" in said
    assert "trial.json: cannot be written: " in said
    assert "Traceback" not in said
    eventually(lambda: not trials(cluster, namespace))


def test_a_trial_whose_results_differ_ends_with_5(cluster: Cluster, namespace: str) -> None:
    cluster.apply(job(namespace))
    cluster.kubectl("wait", "pytorchjob/bert", "-n", namespace, "--for=condition=Succeeded", "--timeout=50s")
    done = cluster.shunter("migrate", "test", "bert", "-n", namespace, "--env", "OFFSET=9")
    assert done.returncode == 5, done.stdout + done.stderr


def test_a_trial_that_would_write_where_its_original_writes_is_not_started(cluster: Cluster, namespace: str) -> None:
    cluster.apply(
        job(
            namespace,
            volumes=[{"name": "out", "hostPath": {"path": f"/tmp/{namespace}", "type": "DirectoryOrCreate"}}],
            container={"volumeMounts": [{"name": "out", "mountPath": "/out"}]},
        )
    )
    refused = cluster.shunter("migrate", "test", "bert", "-n", namespace)
    assert refused.returncode == 3
    assert f"blocking RUN001 The trial would also write to hostPath /tmp/{namespace}." in refused.stderr
    assert not trials(cluster, namespace)
    shown = cluster.shunter("migrate", "test-deploy", "bert", "-n", namespace, "--allow-shared-output", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "name: bert-trial" in shown.stdout
    assert not trials(cluster, namespace)


def test_a_quota_that_leaves_too_little_refuses_a_trial(cluster: Cluster, namespace: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": namespace},
        "spec": {"hard": {"count/trainjobs.trainer.kubeflow.org": "0"}},
    }
    cluster.apply(quota, job(namespace))
    refused = cluster.shunter("migrate", "test", "bert", "-n", namespace)
    assert refused.returncode == 3
    assert "ResourceQuota small leaves 0 of count/trainjobs.trainer.kubeflow.org, the trial requests 1" in refused.stderr


def test_what_a_killed_command_leaves_ends_by_itself_and_goes_with_the_next_trial(cluster: Cluster, namespace: str) -> None:
    """Kill -9: nothing that the command could do at its end is done."""
    cluster.apply(job(namespace, f"{PRINTS}; exec sleep 600"))
    command = [*SHUNTER, "migrate", "test", "bert", "-n", namespace, "--deadline", "4"]
    killed = subprocess.Popen(command, env=cluster.environment, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: "pod" in " ".join(trials(cluster, namespace)))
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    cluster.kubectl("wait", "trainjob/bert-trial", "-n", namespace, "--for=condition=Failed", "--timeout=60s")
    eventually(lambda: not [name for name in trials(cluster, namespace) if name.startswith("pod/")])
    again = cluster.shunter("migrate", "test", "bert", "-n", namespace, "--deadline", "3")
    assert f"removed TrainJob {namespace}/bert-trial, left over from a trial" in again.stderr
    assert again.returncode == 1, again.stdout + again.stderr
    assert "TrainJob exceeded its active deadline" in again.stderr
    eventually(lambda: not trials(cluster, namespace))


def trials(cluster: Cluster, namespace: str) -> list[str]:
    """What of a trial is there, as `kind/name`."""
    names = cluster.kubectl("get", OF_TRIALS, "-n", namespace, "-o", "name").split()
    return [name for name in names if "bert-trial" in name]
