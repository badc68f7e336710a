"""`shunter logs` and its options, for jobs of both generations, with restarted containers and pods that are gone."""

import json
import re
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from shunter.api.meta import Json

pytestmark = pytest.mark.timeout(240)

SCRIPT = """
if [ -e /state/ran ]; then echo second run; else touch /state/ran; echo first run; echo data is missing; exit 1; fi
for line in 1 2 3 4 5; do echo line $line; done
sleep 600
"""
CONTAINER = {
    "image": "any:1",
    "command": ["sh", "-c", SCRIPT],
    "volumeMounts": [{"name": "state", "mountPath": "/state"}],
}
POD = {
    "restartPolicy": "OnFailure",
    "terminationGracePeriodSeconds": 0,
    "volumes": [{"name": "state", "emptyDir": {}}],
}


def v1(namespace: str) -> list[dict[str, Any]]:
    template = {"spec": {**POD, "containers": [{"name": "pytorch", **CONTAINER}]}}
    replicas = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Master": replicas, "Worker": replicas}, "runPolicy": {"backoffLimit": 10}},
    }
    return [job]


def v2(namespace: str) -> list[dict[str, Any]]:
    template = {"spec": {**POD, "containers": [{"name": "node", **CONTAINER}]}}
    spec = {"backoffLimit": 10, "template": template}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    replicated = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": spec}}
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
    runtime = {
        **head,
        "kind": "TrainingRuntime",
        "metadata": {"name": "again", "namespace": namespace},
        "spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [replicated]}}},
    }
    job = {
        **head,
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": namespace},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "again"}, "trainer": {"numNodes": 2}},
    }
    return [runtime, job]


@pytest.mark.parametrize(("objects", "ranks"), [(v1, ["master-0", "worker-0"]), (v2, ["node-0", "node-1"])], ids=["v1", "v2"])
def test_the_options_of_logs_hold_for_every_rank(cluster: Cluster, namespace: str, objects: Any, ranks: list[str]) -> None:
    for obj in objects(namespace):
        cluster.apply(obj)

    def logs(*options: str, code: int = 0) -> list[str]:
        done = cluster.shunter("logs", "j", "-n", namespace, *options)
        assert done.returncode == code, done.stderr
        return done.stdout.splitlines() or done.stderr.splitlines()

    eventually(lambda: cluster.shunter("logs", "j", "-n", namespace).stdout.count("line 5") == 2, seconds=90)
    assert logs("--previous") == [f"[{rank}] {line}" for rank in ranks for line in ("first run", "data is missing")]
    assert logs("-p", "--rank", "1", "--tail", "1") == [f"[{ranks[1]}] data is missing"]
    assert logs("--tail", "2") == [f"[{rank}] line {line}" for rank in ranks for line in (4, 5)]
    assert logs("--since", "1h") == logs() == logs("--tail", "-1")
    assert len(logs()) == 12
    for line in logs("--timestamps", "--tail=1"):
        assert re.fullmatch(r"\[[a-z]+-\d\] \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* line 5", line), line
    assert logs("--rank", "2", code=2)[0].endswith("job 'j' has no rank 2: its ranks are 0 to 1.")
    assert "--previous containers have ended and cannot be followed" in logs("-f", "-p", code=2)[0]
    assert logs("--tail", "0") == ["no lines: --tail 0 omits the existing ones"]
    eventually(lambda: logs("--since", "1s") == ["no line was written in the last 1s"])


def test_following_begins_with_the_tail_and_shows_all_of_what_starts_later(cluster: Cluster, namespace: str, start: Any) -> None:
    job = v1(namespace)[0]
    script = (
        "echo one; echo two; while [ ! -e /state/go ]; do sleep 0.1; done; [ -e /state/end ] && exit 0; touch /state/end; exit 1"
    )
    replica = job["spec"]["pytorchReplicaSpecs"]["Master"]
    replica["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", script]
    job["spec"]["pytorchReplicaSpecs"] = {"Master": replica}
    cluster.apply(job)
    eventually(lambda: cluster.shunter("logs", "j", "-n", namespace).stdout.count("two") == 1)
    following = start("logs", "-f", "j", "-n", namespace, "--tail", "1")
    assert following.stdout.readline() == "[master-0] two\n"
    touched = cluster.try_kubectl("exec", "-n", namespace, "j-master-0", "--", "touch", "/state/go")
    assert touched.returncode in (0, 137), touched.stderr  # the container may end before it does, and kill it
    rest, _ = following.communicate(timeout=90)
    assert [line for line in rest.splitlines() if line.startswith("[")] == ["[master-0] one", "[master-0] two"]
    assert following.returncode == 0


def test_a_job_whose_pods_are_gone_says_so(cluster: Cluster, namespace: str) -> None:
    job = v1(namespace)[0]
    replica = job["spec"]["pytorchReplicaSpecs"]["Master"]
    replica["template"]["spec"]["containers"][0]["command"] = ["true"]
    job["spec"] = {"pytorchReplicaSpecs": {"Master": replica}, "runPolicy": {"cleanPodPolicy": "All"}}
    assert cluster.shunter("run", "-", stdin=json.dumps(job)).returncode == 0
    eventually(lambda: not cluster.get("pods", "-n", namespace)["items"])
    for options in ([], ["-f"], ["--previous"], ["--tail", "3"]):
        done = cluster.shunter("logs", "j", "-n", namespace, *options)
        assert done.returncode == 2
        assert (
            f"PyTorchJob {namespace}/j has no pods: it has succeeded, and the logs were deleted with its pods; "
            "spec.runPolicy.cleanPodPolicy: None keeps them."
        ) in done.stderr


def test_no_run_before_is_said(cluster: Cluster, namespace: str) -> None:
    job = v1(namespace)[0]
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0]["command"] = ["echo", "done"]
    assert cluster.shunter("run", "-", stdin=json.dumps(job)).returncode == 0
    done = cluster.shunter("logs", "j", "-n", namespace, "--previous")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no container of job 'j' has run before: none was restarted in its pod." in done.stderr


def test_a_job_that_reports_nothing_shows_the_steps_of_its_log(cluster: Cluster, namespace: str) -> None:
    job = v1(namespace)[0]
    for role, script in (
        ("Master", "for step in 1 2 3; do echo step $step/300 loss 0.$step; sleep 0.2; done"),
        ("Worker", "true"),
    ):
        container = {"name": "pytorch", "image": "any:1", "command": ["sh", "-c", f"{script}; sleep 600"]}
        template = {"spec": {**POD, "containers": [container]}}
        job["spec"]["pytorchReplicaSpecs"][role] = {"replicas": 1, "restartPolicy": "Never", "template": template}
    cluster.apply(job)

    def row() -> Json:
        (found,) = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
        progress: Json | None = found["progress"]
        return progress or {}

    found = eventually(lambda: row() if row().get("step") == 3 else {}, seconds=90)
    assert (found["steps"], found["loss"], found["source"]) == (300, 0.3, "log")
    assert "3/300 (log)" in cluster.shunter("jobs", "-n", namespace).stdout
    assert "Progress step 3/300, loss 0.3" in cluster.shunter("describe", "j", "-n", namespace).stdout
