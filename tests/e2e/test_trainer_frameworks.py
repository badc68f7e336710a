"""TrainJobs train for real: processes that find each other by what they are told; and what becomes of those that do not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import Cluster, eventually

EXAMPLES = Path(__file__).parents[2] / "examples/v2"
SLEEP = "trap exit TERM; sleep {seconds} & wait"
"""Ends at once when it is told to, as the first process of a container does only if it says so."""

pytestmark = pytest.mark.timeout(240)


@pytest.mark.long
def test_nodes_with_several_processes_train_together(cluster: Cluster, namespace: str) -> None:
    """Those of other frameworks than torch do in test_recipes.py."""
    output = run(cluster, namespace, "trainjob-torchrun")
    said = {f"Rank {rank}/4 initialized" for rank in range(4)} | {f"Rank {rank} learned 1.00 2.00 3.00" for rank in range(4)}
    assert {words for words in said if words in output} == said, output


def test_a_job_that_is_suspended_starts_anew_when_it_is_resumed(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    script = "echo $JOB_COMPLETION_INDEX >> /told/started; trap exit TERM; until [ -e /told/go ]; do sleep 0.1; done"
    apply(cluster, namespace, script, told=tmp_path)

    def started() -> list[str]:
        file = tmp_path / "started"
        return sorted(file.read_text().split()) if file.exists() else []

    eventually(lambda: started() == ["0", "1"])
    set_suspended(cluster, namespace, True)
    wait(cluster, namespace, "Suspended")
    eventually(lambda: not cluster.get("pods", "-n", namespace)["items"])
    set_suspended(cluster, namespace, False)
    eventually(lambda: started() == ["0", "0", "1", "1"])
    (tmp_path / "go").touch()
    wait(cluster, namespace, "Complete")
    assert conditions(cluster, namespace) == [
        ("Suspended", "False", "Resumed", "TrainJob is resumed"),
        ("Complete", "True", "AllJobsCompleted", "jobset completed successfully"),
    ]


def test_a_rank_that_fails_fails_the_job_and_has_the_last_word(cluster: Cluster, namespace: str) -> None:
    script = "if [ $JOB_COMPLETION_INDEX = 1 ]; then echo rank 1 has no data >&2; exit 3; fi; " + SLEEP.format(seconds=600)
    apply(cluster, namespace, script)
    wait(cluster, namespace, "Failed")
    ((kind, status, reason, message),) = conditions(cluster, namespace)
    assert (kind, status, reason) == ("Failed", "True", "FailedJobs")
    assert message.startswith("jobset failed due to one or more job failures")
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "State    Failed (FailedJobs)" in described
    assert "container node: Error, exit code 3" in described
    assert "| rank 1 has no data" in described


def test_a_job_beyond_its_deadline_fails_and_its_processes_end(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, SLEEP.format(seconds=600), activeDeadlineSeconds=2)
    wait(cluster, namespace, "Failed")
    assert conditions(cluster, namespace) == [("Failed", "True", "DeadlineExceeded", "TrainJob exceeded its active deadline")]
    eventually(lambda: not cluster.get("pods", "-n", namespace)["items"])


def test_a_job_that_is_deleted_while_it_runs_leaves_nothing(cluster: Cluster, namespace: str) -> None:
    """Of the kind that has most: keys and a list of hosts."""
    kinds = "pods,jobs,jobsets,services,secrets,configmaps,trainjobs"
    seconds = 600 + int(namespace.removeprefix("t-"), 16)

    def names() -> set[str]:
        return set(cluster.kubectl("get", kinds, "-n", namespace, "-o", "name").split())

    def processes() -> str:
        return subprocess.run(["pgrep", "-f", f"sleep {seconds}"], capture_output=True, text=True, check=False).stdout

    apply(cluster, namespace, SLEEP.format(seconds=seconds), policy={"mpi": {"sshAuthMountPath": "/root/.ssh"}})
    eventually(processes)
    assert {"secret/j-mpi-ssh-auth", "configmap/j-mpi-hostfile", "service/j"} < names()
    cluster.kubectl("delete", "trainjob", "j", "-n", namespace)
    eventually(lambda: names() <= {"configmap/kube-root-ca.crt"})
    assert not processes()


OTHER_KEY = """
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
import os

key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
open("/tmp/other", "wb").write(key)
options = ["--allow-run-as-root", "--hostfile", "/etc/mpi/hostfile", "--mca", "plm_ssh_args", "-i /tmp/other"]
os.execvp("mpirun", ["mpirun", *options, "true"])
"""
TRACKER_TAKEN = """
import os, socket
from xgboost.tracker import RabitTracker

port = int(os.environ["DMLC_TRACKER_PORT"])
taken = socket.create_server(("", port))
RabitTracker(n_workers=2, host_ip="127.0.0.1", port=port)
"""
MISTAKES = {
    "a key that the nodes do not know": (
        "deepspeed-distributed",
        {"command": ["python", "-c", OTHER_KEY]},
        "| ssh: mpiuser@j-node-0-0.j: Permission denied (publickey).",
    ),
    "a port that is taken": (
        "xgboost-distributed",
        {"command": ["python", "-c", TRACKER_TAKEN]},
        "Failed to bind socket. system error:Address already in use",
    ),
}


@pytest.mark.parametrize(("runtime", "trainer", "said"), MISTAKES.values(), ids=MISTAKES)
def test_why_nodes_do_not_meet_is_in_the_description(
    cluster: Cluster, namespace: str, runtime: str, trainer: dict[str, Any], said: str
) -> None:
    cluster.apply(trainjob(namespace, runtime, trainer={"numNodes": 2, **trainer}))
    eventually(lambda: said in cluster.shunter("describe", "j", "-n", namespace).stdout)


def test_the_last_words_of_an_initializer_are_in_the_description(cluster: Cluster, namespace: str) -> None:
    crash = ["python", "-c", "raise SystemExit('the tokenizer has no vocabulary')"]
    pod = {"restartPolicy": "Never", "containers": [{"name": "dataset-initializer", "image": "any:1", "command": crash}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}
    initializer = {
        "name": "dataset-initializer",
        "template": {"metadata": {"labels": labels}, "spec": {"backoffLimit": 0, "template": {"spec": pod}}},
    }
    waits = {"dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
    apply(cluster, namespace, "true", before=[initializer], node=waits)
    wait(cluster, namespace, "Failed")
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "container dataset-initializer: Error, exit code 1" in described
    assert "| the tokenizer has no vocabulary" in described


def run(cluster: Cluster, namespace: str, job: str) -> str:
    """What the pods of an example print until it is complete."""
    manifest = yaml.safe_load((EXAMPLES / f"{job}.yaml").read_text())
    manifest["metadata"]["namespace"] = namespace
    done = cluster.shunter("run", "-", stdin=json.dumps(manifest), timeout=200)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def apply(
    cluster: Cluster,
    namespace: str,
    script: str,
    *,
    policy: dict[str, Any] | None = None,
    told: Path | None = None,
    before: list[dict[str, Any]] | None = None,
    node: dict[str, Any] | None = None,
    **spec: Any,
) -> None:
    """A TrainJob `j` whose two nodes run a shell script, on a runtime of its own that does not restart them."""
    container: dict[str, Any] = {"name": "node", "image": "any:1"}
    pod: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    if told:
        pod["volumes"] = [{"name": "told", "hostPath": {"path": str(told)}}]
        container["volumeMounts"] = [{"name": "told", "mountPath": "/told"}]
    nodes = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"backoffLimit": 0, "template": {"spec": pod}},
        },
        **(node or {}),
    }
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "plain", "namespace": namespace},
        "spec": {
            "mlPolicy": {"numNodes": 2, **(policy or {})},
            "template": {"spec": {"replicatedJobs": [*(before or []), nodes]}},
        },
    }
    command = ["sh", "-c", script]
    cluster.apply(runtime, trainjob(namespace, "plain", kind="TrainingRuntime", trainer={"command": command}, **spec))


def trainjob(namespace: str, runtime: str, *, kind: str = "ClusterTrainingRuntime", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {"runtimeRef": {"kind": kind, "name": runtime}, **spec},
    }


def set_suspended(cluster: Cluster, namespace: str, suspend: bool) -> None:
    patch = json.dumps({"spec": {"suspend": suspend}})
    cluster.kubectl("patch", "trainjob", "j", "-n", namespace, "--type=merge", "-p", patch)


def wait(cluster: Cluster, namespace: str, condition: str) -> None:
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, f"--for=condition={condition}", "--timeout=50s")


def conditions(cluster: Cluster, namespace: str) -> list[tuple[str, str, str, str]]:
    found = cluster.get("trainjob", "j", "-n", namespace)["status"]["conditions"]
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in found]
