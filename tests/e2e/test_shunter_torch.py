"""The runtime shunter-torch: whatever ends a rank before the training is over, all ranks start anew and go on together."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from shunter.operator.trainer.runtimes import shipped

pytestmark = pytest.mark.timeout(300)

Json = dict[str, Any]
Start = Callable[..., "subprocess.Popen[str]"]

RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}

STEPS = """
import os, socket, sys, time
rank, told = int(os.environ["PET_NODE_RANK"]), "/told/"
step = int(open(told + "step").read()) if os.path.exists(told + "step") else 0
print("from step", step, flush=True)
if rank == 0:
    peer, _ = socket.create_server(("0.0.0.0", 29400)).accept()
while rank == 1:
    try:
        peer = socket.create_connection((os.environ["PET_MASTER_ADDR"], 29400), 5)
        break
    except OSError:
        time.sleep(0.05)
with open(told + "started", "a") as started:
    started.write(f"{rank} {step}\\n")
while not os.path.exists(told + "go"):
    if os.path.exists(told + "leave"):
        if rank == 1:
            sys.exit(0)
        time.sleep(0.05)
        continue
    try:
        peer.sendall(b".")
        is_there = bool(peer.recv(1))
    except OSError:
        is_there = False
    if not is_there and not os.path.exists(told + "leave"):
        sys.exit("the other rank is gone")
    step += 1
    if rank == 0:
        with open(told + "step.new", "w") as saved:
            saved.write(str(step))
        os.replace(told + "step.new", told + "step")
    time.sleep(0.05)
"""
"""Two ranks that step together, and end when they lose each other; rank 0 saves each step. Once told to leave, rank 1 is done at
once, and rank 0 waits, also when its connection ends in the middle of a step."""
TORCH_STEPS = """
import os, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank, told = dist.get_rank(), "/told/"
with open(f"{told}pid-{rank}", "w") as pid:
    pid.write(str(os.getpid()))
step = torch.load(told + "step.pt")["step"] if os.path.exists(told + "step.pt") else 0
open(f"{told}started", "a").write(f"{rank} {step}\\n")
end = torch.zeros(1)
while not end:
    end = torch.tensor([float(os.path.exists(told + "go"))])
    dist.all_reduce(end)
    step += 1
    if rank == 0:
        torch.save({"step": step}, told + "step.new")
        os.replace(told + "step.new", told + "step.pt")
        with open(told + "count", "w") as count:
            count.write(str(step))
        os.replace(told + "count", told + "step")
    dist.barrier()
    time.sleep(0.05)
dist.destroy_process_group()
"""
KILLABLE = """
trap 'kill $pid; while [ -e /told/linger ]; do sleep 0.1; done' TERM
python -u -c "$0" & pid=$!
echo $pid > /told/pid-$PET_NODE_RANK
wait $pid
exit $?
"""
"""The first process of a container cannot be killed from within; its child can. After SIGTERM it stays for as long as a file says
linger."""


REFUSING = """\
import os, sys, time
if os.environ["RANK"] == "0":
    print("error: --global-batch 7 must be a multiple of 2 ranks.", flush=True)
time.sleep(int(os.environ["RANK"]))
sys.exit(2)
"""
"""What a recipe does about wrong input."""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A directory that all containers see as /told."""
    os.chmod(tmp_path, 0o777)
    return tmp_path


def test_a_killed_rank_starts_all_anew_from_their_checkpoint_and_the_restart_is_counted(
    cluster: Cluster, namespace: str, told: Path, start: Start
) -> None:
    (told / "job.json").write_text(json.dumps(trainjob(namespace, told)))
    following = start("run", str(told / "job.json"))
    before = pods_that_step(cluster, namespace, told)
    reached = int((told / "step").read_text())
    kill(cluster, namespace, before, rank=1)
    after = pods_that_step(cluster, namespace, told, start=2)
    assert not uids(before) & uids(after)
    again = started(told)[2:]
    assert sorted(rank for rank, _ in again) == [0, 1]
    assert len({step for _, step in again}) == 1, "both go on from the same step"
    assert again[0][1] >= reached
    (row,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
    assert row["restarts"] == {"made": 1, "used": 1, "most": 3}
    assert "RESTARTS" in cluster.shunter("jobs", "-n", namespace).stdout
    assert "  Restarts 1 of 3 used\n" in cluster.shunter("describe", "j", "-n", namespace).stdout
    (told / "go").touch()
    said, _ = following.communicate(timeout=60)
    assert following.returncode == 0, said
    assert "all pods are recreated; restarts: 1 of 3 used\n" in said


def test_a_disruption_starts_all_anew_and_uses_no_restart(cluster: Cluster, namespace: str, told: Path) -> None:
    cluster.apply(trainjob(namespace, told))
    for round_ in (1, 2):
        before = pods_that_step(cluster, namespace, told, start=round_)
        cluster.evict(before[round_ % 2]["metadata"]["name"], namespace)
        assert not uids(before) & uids(pods_that_step(cluster, namespace, told, start=round_ + 1))
        (row,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
        assert row["restarts"] == {"made": round_, "used": 0, "most": 3}
    assert "  Restarts 0 of 3 used, and 2 that do not count\n" in cluster.shunter("describe", "j", "-n", namespace).stdout
    # What docs/training/runtime.md says it cannot do: the disrupted rank has let go of its partner and has not ended, so that one
    # fails first, and its failure is like any other.
    before = pods_that_step(cluster, namespace, told, start=3)
    (told / "linger").touch()
    cluster.evict(before[1]["metadata"]["name"], namespace)

    def failing() -> list[str]:
        (job,) = cluster.get("jobs", "-n", namespace)["items"]
        return [one["reason"] for one in job["status"].get("conditions", []) if one["type"] == "FailureTarget"]

    assert eventually(failing) == ["BackoffLimitExceeded"]
    (told / "linger").unlink()
    assert not uids(before) & uids(pods_that_step(cluster, namespace, told, start=4))
    status = cluster.get("jobset", "j", "-n", namespace)["status"]
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (3, 1)
    (told / "go").touch()
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Complete", "--timeout=60s", timeout=90)


def test_wrong_input_fails_the_job_at_once_and_is_told_once(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Exit code 2 of a program; any other restarts the group, as `test_a_job_that_fails_too_often...` shows."""
    sentence = "--global-batch 7 must be a multiple of 2 ranks."
    (tmp_path / "train.py").write_text(REFUSING)
    done = cluster.shunter("run", str(tmp_path / "train.py"), "--nodes", "2", "-n", namespace)
    assert done.returncode == 1, done.stderr
    assert [line for line in done.stdout.splitlines() if "error" in line] == [f"[node-0] error: {sentence}"], "its log, once"
    assert done.stderr.count(sentence) == 1, done.stderr
    assert "restart" not in done.stderr
    status = cluster.get("jobset", "train", "-n", namespace)["status"]
    assert (status["restarts"], status["terminalState"]) == (0, "Failed")
    (cause,) = [line for line in cluster.shunter("describe", "train", "-n", namespace).stdout.splitlines() if "  Cause " in line]
    assert sentence in cause
    diagnosed = cluster.shunter("doctor", "train", "-n", namespace).stdout
    assert sentence in diagnosed
    assert "restart" not in diagnosed


def test_a_rank_that_is_done_starts_again_with_one_that_fails(cluster: Cluster, namespace: str, told: Path) -> None:
    """Alone, the one that failed would wait for ever for a partner that is done, as with torch-distributed."""
    cluster.apply(trainjob(namespace, told))
    before = pods_that_step(cluster, namespace, told)
    (told / "leave").touch()
    eventually(lambda: phases(cluster, namespace) == ["Running", "Succeeded"])
    kill(cluster, namespace, before, rank=0)
    (told / "leave").unlink()
    assert not uids(before) & uids(pods_that_step(cluster, namespace, told, start=2))
    (told / "go").touch()
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Complete", "--timeout=60s", timeout=90)


def test_on_torch_distributed_the_one_that_failed_is_restarted_alone_which_is_told(
    cluster: Cluster, namespace: str, told: Path
) -> None:
    job = trainjob(namespace, told)
    job["spec"]["runtimeRef"]["name"] = "torch-distributed"
    cluster.apply(job)
    before = pods_that_step(cluster, namespace, told)
    (told / "leave").touch()
    eventually(lambda: phases(cluster, namespace) == ["Running", "Succeeded"])
    kill(cluster, namespace, before, rank=0)
    sentence = "node-1 is done, node-0 was restarted alone and cannot form the group"

    def row() -> Any:
        (found,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
        return found

    eventually(lambda: row()["cause"] == sentence)
    assert (row()["why"], row()["restarts"]) == ("PeersSucceeded", None)
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert f"  Cause    PeersSucceeded: {sentence}\n           Start the job again, on runtime shunter-torch" in described


def test_a_job_that_fails_too_often_stays_failed_when_its_jobset_goes_by_its_time_to_live(
    cluster: Cluster, namespace: str
) -> None:
    runtime = copy.deepcopy(RUNTIMES["shunter-torch"])
    runtime["kind"] = "TrainingRuntime"
    runtime["metadata"] |= {"name": "brief", "namespace": namespace}
    runtime["spec"]["template"]["spec"] |= {"ttlSecondsAfterFinished": 1}
    runtime["spec"]["template"]["spec"]["failurePolicy"]["maxRestarts"] = 1
    cluster.apply(runtime)

    def ended(name: str) -> bool:
        job = cluster.get("trainjob", name, "-n", namespace)
        conditions = [(one["type"], one["reason"]) for one in job.get("status", {}).get("conditions", [])]
        sets = {one["metadata"]["name"] for one in cluster.get("jobsets", "-n", namespace)["items"]}
        return conditions == [("Failed", "ReachedMaxRestarts")] and name not in sets

    for name in ("first", "second"):
        job = trainjob(namespace, None, name=name, command=["false"])
        job["spec"]["runtimeRef"] = {"kind": "TrainingRuntime", "name": "brief"}
        cluster.apply(job)
        eventually(partial(ended, name))
    assert ended("first"), "the operator has looked at it when its JobSet went, and made the second one's since"


def test_torch_ranks_go_on_from_their_checkpoint(cluster: Cluster, namespace: str, told: Path) -> None:
    (told / "train.py").write_text(TORCH_STEPS)
    cluster.apply(trainjob(namespace, told, command=["torchrun", "/told/train.py"], numProcPerNode=1))
    before = pods_that_step(cluster, namespace, told)
    reached = int((told / "step").read_text())
    kill(cluster, namespace, before, rank=1)
    assert not uids(before) & uids(pods_that_step(cluster, namespace, told, start=2))
    again = started(told)[2:]
    assert sorted(rank for rank, _ in again) == [0, 1]
    assert {step >= reached for _, step in again} == {True}
    (told / "go").touch()
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Complete", "--timeout=120s", timeout=150)
    (row,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
    assert row["state"] == "Succeeded"


def trainjob(namespace: str, told: Path | None, *, name: str = "j", command: list[str] | None = None, **trainer: Any) -> Json:
    """Two nodes of shunter-torch that see the directory `told`."""
    patch: Json = {}
    if told is not None:
        mount = {"name": "node", "volumeMounts": [{"name": "told", "mountPath": "/told"}]}
        pod = {"volumes": [{"name": "told", "hostPath": {"path": str(told)}}], "containers": [mount]}
        node = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
        spec = {"template": {"spec": {"replicatedJobs": [node]}}}
        patch = {"runtimePatches": [{"manager": "shunter.dev/test", "trainingRuntimeSpec": spec}]}
    words = command or ["sh", "-c", KILLABLE, STEPS]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runtimeRef": {"name": "shunter-torch"},
            "trainer": {"numNodes": 2, "image": "any:1", "command": words, **trainer},
            **patch,
        },
    }


def started(told: Path) -> list[tuple[int, int]]:
    """Rank and first step of each start so far."""
    file = told / "started"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(int(rank), int(step)) for rank, step in (line.split() for line in lines)]


def pods_that_step(cluster: Cluster, namespace: str, told: Path, *, start: int = 1) -> list[Json]:
    """The pods of both ranks, by rank, once they train together for the `start`-th time."""
    eventually(lambda: len(started(told)) >= 2 * start, seconds=120)
    step = int((told / "step").read_text()) if (told / "step").exists() else 0
    eventually(lambda: (told / "step").exists() and int((told / "step").read_text() or 0) > step + 2)

    def both() -> list[Json]:
        there = [pod for pod in cluster.get("pods", "-n", namespace)["items"] if "deletionTimestamp" not in pod["metadata"]]
        return sorted(there, key=rank_of) if len(there) == 2 else []

    found: list[Json] = eventually(both)
    return found


def uids(pods: list[Json]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def phases(cluster: Cluster, namespace: str) -> list[str]:
    return sorted(pod["status"].get("phase", "") for pod in cluster.get("pods", "-n", namespace)["items"])


def rank_of(pod: Json) -> int:
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def kill(cluster: Cluster, namespace: str, pods: list[Json], *, rank: int) -> None:
    command = ["sh", "-c", f"kill -9 $(cat /told/pid-{rank})"]
    done = cluster.try_kubectl("exec", pods[rank]["metadata"]["name"], "-n", namespace, "--", *command)
    # 137: the shell of the command went with the container before it could end.
    assert done.returncode in (0, 137), done.stderr
