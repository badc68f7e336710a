"""`shunter scale`: a TrainJob goes on with more or fewer nodes from what it saved, whoever is killed in between."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, SharedClaim, eventually
from fault_transport import FaultTransport, Killed
from shunter.api.resources import TRAIN_JOBS
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.launch.scaling import scale_trainjob

pytestmark = pytest.mark.timeout(240)

Json = dict[str, Any]

STEPS = """
import fcntl, os, signal, sys, time
rank, world, told = os.environ["PET_NODE_RANK"], os.environ["PET_NNODES"], "/told/"

def stop(*_):
    if rank == "0":
        open(told + "saved", "w").write(str(step))
    sys.exit(143)

step = int(open(told + "saved").read()) if os.path.exists(told + "saved") else 0
signal.signal(signal.SIGTERM, stop)
lock = open(told + "lock-" + rank, "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    open(told + "twice", "a").write(rank + " ")
open(told + "started", "a").write(f"{rank}/{world} from {step}\\n")
while not os.path.exists(told + "go"):
    step += 1
    time.sleep(0.02)
"""
"""Ranks that count steps; rank 0 saves its step when it is told to end, and at no other time."""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A directory that all containers see as /told."""
    os.chmod(tmp_path, 0o777)
    return tmp_path


def trainjob(namespace: str, told: Path, *, nodes: int = 2, **spec: Any) -> Json:
    mount = {"name": "node", "volumeMounts": [{"name": "told", "mountPath": "/told"}]}
    pod = {"volumes": [{"name": "told", "hostPath": {"path": str(told)}}], "containers": [mount]}
    node = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"manager": "shunter.dev/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [node]}}}}
    trainer = {"numNodes": nodes, "image": "any:1", "command": ["python", "-u", "-c", STEPS]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {"runtimeRef": {"name": "shunter-torch"}, "trainer": trainer, "runtimePatches": [patch], **spec},
    }


def started(told: Path) -> list[str]:
    file = told / "started"
    return sorted(file.read_text().splitlines()) if file.exists() else []


def has_started(told: Path, *lines: str) -> Callable[[], bool]:
    return lambda: started(told) == sorted(lines)


def saved(told: Path) -> str:
    return (told / "saved").read_text()


def finish(cluster: Cluster, namespace: str, told: Path) -> None:
    assert not (told / "twice").exists(), "a rank began while its predecessor had not ended"
    (told / "go").touch()
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Complete", "--timeout=60s", timeout=90)


def test_a_job_goes_on_with_another_number_of_nodes_from_what_it_saved_when_it_was_stopped(
    cluster: Cluster, namespace: str, told: Path
) -> None:
    cluster.apply(trainjob(namespace, told))
    eventually(has_started(told, "0/2 from 0", "1/2 from 0"))
    done = cluster.shunter("scale", "j", "--nodes", "3", "-n", namespace)
    assert done.returncode == 0, done.stderr
    assert f"TrainJob {namespace}/j: 2 to 3 nodes; its pods end, and start again with the new number\n" in done.stderr
    assert f"TrainJob {namespace}/j starts on 3 nodes; see: shunter logs -f j -n {namespace}\n" in done.stderr
    first = saved(told)
    assert int(first) > 0
    three = [f"{rank}/3 from {first}" for rank in range(3)]
    eventually(has_started(told, "0/2 from 0", "1/2 from 0", *three))
    again = cluster.shunter("scale", "j", "--nodes", "3", "-n", namespace)
    assert (again.returncode, f"TrainJob {namespace}/j has 3 nodes already\n" in again.stderr) == (0, True), again.stderr
    one = cluster.shunter("scale", "j", "--nodes", "1", "-n", namespace)
    assert (one.returncode, "j: 3 to 1 node; " in one.stderr, "j starts on 1 node; " in one.stderr) == (0, True, True), one.stderr
    eventually(has_started(told, "0/2 from 0", "1/2 from 0", *three, f"0/1 from {saved(told)}"))
    assert int(saved(told)) > int(first)
    finish(cluster, namespace, told)
    refused = cluster.shunter("scale", "j", "--nodes", "2", "-n", namespace)
    assert (refused.returncode, f"TrainJob {namespace}/j has ended (Succeeded)." in refused.stderr) == (2, True)


async def test_killed_between_its_writes_the_job_says_so_and_the_command_that_it_names_completes_it(
    cluster: Cluster, namespace: str, told: Path
) -> None:
    cluster.apply(trainjob(namespace, told))
    eventually(has_started(told, "0/2 from 0", "1/2 from 0"))
    # No status is written after that, so that the first write is not refused for the sake of one.
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=jsonpath={.status.jobsStatus[0].ready}=1", "--timeout=50s")
    client = connect(kubeconfig.load(cluster.kubeconfig))
    async with client:
        dying = FaultTransport(client.transport)
        dying.kill_after(1)
        job = {"apiVersion": TRAIN_JOBS.api_version, "kind": "TrainJob", **await client.get(TRAIN_JOBS, "j", namespace)}
        with pytest.raises(Killed):
            await scale_trainjob(client.through(dying), job, 1)
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Suspended", "--timeout=50s")
    assert "ScaleInterrupted" in cluster.shunter("jobs", "-n", namespace).stdout
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "shunter scale suspended it to give it 1 node, and was interrupted before it resumed it" in described
    (command,) = re.findall(r"Finish that with: shunter (.*)", described)
    done = cluster.shunter(*command.split())
    assert done.returncode == 0, done.stderr
    eventually(has_started(told, "0/2 from 0", "1/2 from 0", f"0/1 from {saved(told)}"))
    annotations = cluster.get("trainjob", "j", "-n", namespace)["metadata"].get("annotations", {})
    assert not [name for name in annotations if "scaling" in name]
    finish(cluster, namespace, told)


def test_a_job_that_its_owner_suspended_stays_so_and_has_the_number_when_it_is_resumed(
    cluster: Cluster, namespace: str, told: Path
) -> None:
    cluster.apply(trainjob(namespace, told, suspend=True))
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Suspended", "--timeout=50s")
    done = cluster.shunter("scale", "j", "--nodes", "3", "-n", namespace)
    assert done.returncode == 0, done.stderr
    assert f"TrainJob {namespace}/j has 3 nodes when it is resumed; it stays suspended\n" in done.stderr
    assert cluster.get("trainjob", "j", "-n", namespace)["spec"]["suspend"] is True
    patch(cluster, namespace, suspend=False)
    eventually(has_started(told, *(f"{rank}/3 from 0" for rank in range(3))))
    finish(cluster, namespace, told)


def test_by_hand_it_takes_two_patches_and_while_the_job_runs_the_api_server_refuses(
    cluster: Cluster, namespace: str, told: Path
) -> None:
    cluster.apply(trainjob(namespace, told, nodes=1))
    eventually(has_started(told, "0/1 from 0"))
    refused = try_patch(cluster, namespace, trainer={"numNodes": 2})
    assert "trainer.numNodes can only be modified while the TrainJob is suspended" in refused
    other = try_patch(cluster, namespace, suspend=True, trainer={"numNodes": 2, "image": "other:1"})
    assert "spec.trainer: Invalid value" in other
    assert "field is immutable" in other
    patch(cluster, namespace, suspend=True, trainer={"numNodes": 2})
    patch(cluster, namespace, suspend=False)  # at once: the operator may not have seen that it was suspended
    eventually(lambda: (told / "saved").exists())
    eventually(has_started(told, "0/1 from 0", *(f"{rank}/2 from {saved(told)}" for rank in range(2))))
    finish(cluster, namespace, told)


def test_who_cannot_be_scaled_is_told_why_and_nothing_is_written(cluster: Cluster, namespace: str, told: Path) -> None:
    container = {"name": "pytorch", "image": "any:1", "command": ["sleep", "600"]}
    workers = {"replicas": 2, "template": {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}}
    elastic = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "elastic", "namespace": namespace},
        "spec": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}, "pytorchReplicaSpecs": {"Worker": workers}},
    }
    fixed = {
        **elastic,
        "metadata": {"name": "fixed", "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Worker": workers}},
    }
    cluster.apply(trainjob(namespace, told), elastic, fixed)
    before = cluster.get("trainjob", "j", "-n", namespace)["spec"]
    for words, sentence in {
        ("j", "0"): "--nodes 0 of TrainJob",
        ("fixed", "3"): f"PyTorchJob {namespace}/fixed has no elasticPolicy",
        ("elastic", "4"): "has minReplicas 1 and maxReplicas 3",
        ("none", "3"): "there is no job 'none'",
    }.items():
        refused = cluster.shunter("scale", words[0], "--nodes", words[1], "-n", namespace)
        assert (refused.returncode, sentence in refused.stderr) == (2, True), refused.stderr
    assert cluster.get("trainjob", "j", "-n", namespace)["spec"] == before

    def pods() -> list[str]:
        found = cluster.get("pods", "-n", namespace, "-l", "training.kubeflow.org/job-name=elastic")["items"]
        return sorted(pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"])

    done = cluster.shunter("scale", "elastic", "--nodes", "3", "-n", namespace)
    assert f"PyTorchJob {namespace}/elastic: 2 to 3 nodes, by its Workers" in done.stderr
    eventually(lambda: pods() == ["elastic-worker-0", "elastic-worker-1", "elastic-worker-2"])
    assert cluster.shunter("scale", "elastic", "--nodes", "1", "-n", namespace).returncode == 0
    eventually(lambda: pods() == ["elastic-worker-0"])


@pytest.mark.long
def test_the_language_model_shows_its_progress_and_goes_on_with_another_node(
    cluster: Cluster, namespace: str, shared_claim: SharedClaim
) -> None:
    """examples/recipes/lm.py as it is, from its reports to its checkpoint at SIGTERM."""
    is_mounted = cluster.kind == "embedded"
    place = [] if is_mounted else ["--checkpoints", shared_claim.name]
    directory = (
        Path(cluster.environment["SHUNTER_STATE_DIR"]) / "checkpoints" / namespace if is_mounted else shared_claim.directory
    )
    sizes = ["--sequence", "16", "--dim", "16", "--heads", "2", "--layers", "1", "--global-batch", "4"]
    run = ["run", "examples/recipes/lm.py", "-n", namespace, "--nodes", "1", "-e", "OMP_NUM_THREADS=1", *place, "--detach", "--"]
    started = cluster.shunter(*run, "--steps", "1000000", "--save-every", "200", *sizes)
    assert started.returncode == 0, started.stderr

    def newest() -> int:
        return max((int(found.parent.name[5:]) for found in directory.glob("lm/step-*/.metadata")), default=0)

    def row() -> Json:
        (found,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
        return found["progress"] or {}

    def reported() -> bool:
        return bool((row().get("checkpoint") or {}).get("seconds"))

    def logged() -> bool:
        return bool(row().get("checkpoint"))

    eventually(reported if is_mounted else logged, seconds=120)
    shown = row()
    assert shown["step"] > 0
    assert shown["checkpoint"]["step"] > 0, "the newest in the directory, which may be ahead of the last report"
    assert 0 < shown["loss"] < 10
    if is_mounted:  # elsewhere the status server is off by default, and the log is read, which has not all of it
        assert shown["step"] < shown["steps"] == 1_000_000
        assert shown["checkpoint"]["every"] == 200
        assert 0 < shown["checkpoint"]["seconds"] < 120
        assert shown["leftSeconds"] > 0
        header, line = cluster.shunter("jobs", "-n", namespace).stdout.splitlines()
        assert header.split()[6:10] == ["PROGRESS", "LOSS", "LEFT", "CHECKPOINT"]
        assert "/1000000" in line
    done = cluster.shunter("scale", "lm", "--nodes", "2", "-n", namespace, timeout=150)
    assert done.returncode == 0, done.stderr
    saved = newest()
    assert saved > shown["checkpoint"]["step"], "nothing was saved at SIGTERM"

    def goes_on() -> bool:
        logs = cluster.shunter("logs", "lm", "-n", namespace, "--rank", "0").stdout
        return f"ddp on 2 ranks (cpu), from step {saved} to 1000000" in logs

    eventually(goes_on, seconds=120)
    assert cluster.shunter("delete", "lm", "-n", namespace, "--now").returncode == 0


def try_patch(cluster: Cluster, namespace: str, **spec: Any) -> str:
    words = ["patch", "trainjob", "j", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": spec})]
    done = cluster.try_kubectl(*words)
    assert done.returncode != 0
    return done.stderr


def patch(cluster: Cluster, namespace: str, **spec: Any) -> None:
    cluster.kubectl("patch", "trainjob", "j", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": spec}))
