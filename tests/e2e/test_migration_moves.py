"""A cluster's jobs moved by the command: killed and gone on with, taken back; a running job that goes on as a TrainJob."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster, eventually

pytestmark = pytest.mark.timeout(180)

JOBS = 12
KILL_AFTER_RECORDS = 15
TRAINS_ON_V2 = "import os, time; time.sleep(0 if 'JOB_COMPLETION_INDEX' in os.environ else 600)"
"""A program that v1 runs for ever, and v2 to its end."""


PRINTS_A_LOSS = """
import time
print("rank=0 world_size=1")
for step in range(1, 6):
    print(f"step={step} loss={1 / step:.4f}", flush=True)
    time.sleep(0.05)
"""


def pytorch_job(name: str, namespace: str, *, suspend: bool, program: str = TRAINS_ON_V2) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "python", "command": ["python", "-c", program]}
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runPolicy": {"suspend": suspend},
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template}},
        },
    }


class Moving:
    """The verbs on one namespace and one plan."""

    def __init__(self, cluster: Cluster, namespace: str, directory: Path) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.plan = directory / "plan.yaml"

    def run(self, verb: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.cluster.shunter("migrate", verb, *arguments)
        assert done.returncode == code, f"{verb}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def write_plan(self, *arguments: str) -> None:
        space = ("-n", self.namespace, "--journal-namespace", self.namespace)
        self.run("plan", *space, "--freeze", "none", "-o", str(self.plan), *arguments)

    def on_plan(self, verb: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run(verb, "--plan", str(self.plan), *arguments, code=code)

    def train_jobs(self) -> dict[str, str]:
        """Names and uids of TrainJobs."""
        items = self.cluster.get("trainjobs", "-n", self.namespace)["items"]
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}

    def progress(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.on_plan("status", "-o", "json").stdout)
        return found

    def kill_apply_in_the_middle(self) -> None:
        """Starts `apply` and kills it, as `kill -9` does, once its journal has some records."""
        command = [*SHUNTER, "migrate", "apply", "--plan", str(self.plan), "--yes"]
        process = subprocess.Popen(command, env=self.cluster.environment, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while self._records() < KILL_AFTER_RECORDS:
            assert process.poll() is None
            assert time.monotonic() < deadline
        process.kill()
        process.wait()

    def _records(self) -> int:
        return sum(path.read_bytes().count(b"\n") for path in self.plan.parent.glob("plan.yaml.journal/*.jsonl"))


@pytest.fixture
def moving(cluster: Cluster, namespace: str, tmp_path: Path) -> Moving:
    return Moving(cluster, namespace, tmp_path)


def test_a_plan_that_was_killed_goes_on_where_it_was_and_can_be_taken_back(moving: Moving) -> None:
    names = [f"job-{index:02}" for index in range(JOBS)]
    moving.cluster.apply(*(pytorch_job(name, moving.namespace, suspend=True) for name in names))
    moving.write_plan()
    moving.kill_apply_in_the_middle()
    before = moving.train_jobs()
    assert 0 < len(before) < JOBS
    moving.on_plan("apply", "--yes")
    after = moving.train_jobs()
    assert sorted(after) == names
    assert before.items() <= after.items()
    assert moving.progress()["stages"] == {"made": JOBS}
    moving.on_plan("rollback", "--yes")
    assert moving.train_jobs() == {}
    assert len(moving.cluster.get("pytorchjobs", "-n", moving.namespace)["items"]) == JOBS


def test_a_running_job_goes_on_as_a_train_job_and_never_trains_again_on_v1(moving: Moving) -> None:
    moving.cluster.apply(pytorch_job("bert", moving.namespace, suspend=False))
    moving.cluster.kubectl("wait", "pytorchjob/bert", "-n", moving.namespace, "--for=condition=Running", "--timeout=60s")
    moving.write_plan("--running", "move")
    moving.on_plan("apply", "--yes")
    moving.cluster.kubectl("wait", "trainjob/bert", "-n", moving.namespace, "--for=condition=Complete", "--timeout=60s")
    assert moving.on_plan("cleanup", "--yes").stderr.startswith("kept:")
    moving.on_plan("cleanup", "--i-know", "--yes")
    eventually(lambda: moving.cluster.get("pytorchjobs", "-n", moving.namespace)["items"] == [])
    rolled_back = moving.on_plan("rollback", "--yes")
    assert f"kept 1 finished job, which would train again if undone: PyTorchJob {moving.namespace}/bert" in rolled_back.stderr
    [job] = moving.cluster.get("pytorchjobs", "-n", moving.namespace)["items"]
    assert job["spec"]["runPolicy"]["suspend"] is True
    assert list(moving.train_jobs()) == ["bert"]


def test_a_v1_job_goes_once_its_train_job_has_trained_to_the_same_end(moving: Moving) -> None:
    def resume(kind: str, patch: str, condition: str) -> None:
        moving.cluster.kubectl("patch", kind, "bert", "-n", moving.namespace, "--type=merge", "-p", patch)
        moving.cluster.kubectl("wait", f"{kind}/bert", "-n", moving.namespace, f"--for=condition={condition}", "--timeout=60s")

    moving.cluster.apply(pytorch_job("bert", moving.namespace, suspend=True, program=PRINTS_A_LOSS))
    moving.write_plan()
    moving.on_plan("apply", "--yes")
    resume("pytorchjob", '{"spec":{"runPolicy":{"suspend":false}}}', "Succeeded")
    resume("trainjob", '{"spec":{"suspend":false}}', "Complete")
    assert "was not compared" in moving.on_plan("cleanup", "--yes").stderr
    moving.run("compare", "pytorchjob/bert", "trainjob/bert", "-n", moving.namespace, "--throughput", "100")
    assert moving.progress()["stages"] == {"compared": 1}
    moving.on_plan("cleanup", "--yes")
    eventually(lambda: moving.cluster.get("pytorchjobs", "-n", moving.namespace)["items"] == [])


def test_a_cluster_that_runs_both_generations_is_ready(moving: Moving) -> None:
    found = json.loads(moving.run("assess", "-n", moving.namespace, "--json").stdout)
    assert found["verdict"] in ("READY", "PARTIAL"), found
    assert [result["id"] for result in found["results"] if result["impact"] == "blocking"] == []
