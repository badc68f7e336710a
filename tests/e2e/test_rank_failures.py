"""What failed of a job is seen afterwards, though its pods are gone and the job runs: in `describe`, `jobs`, and its JSON. All
commands name the same cause."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

pytestmark = pytest.mark.timeout(300)

Json = dict[str, Any]
DIES = """
died=$(cat /told/died 2>/dev/null || echo 0)
if [ $died -lt TIMES ]; then echo $((died + 1)) > /told/died; echo out of luck; exit CODE; fi
trap exit TERM; sleep 600 & wait
"""
STAYS = "trap exit TERM; sleep 600 & wait"


def template(container: str, command: str, told: Path) -> Json:
    """Pods that see the directory as /told."""
    mounts = [{"name": "told", "mountPath": "/told"}]
    main = {"name": container, "image": "any:1", "command": ["sh", "-c", command], "volumeMounts": mounts}
    volumes = [{"name": "told", "hostPath": {"path": str(told)}}]
    return {"spec": {"containers": [main], "volumes": volumes, "terminationGracePeriodSeconds": 1, "restartPolicy": "Never"}}


def pytorch_job(namespace: str, told: Path) -> Json:
    dies = DIES.replace("TIMES", "3").replace("CODE", "137")
    roles = {"Master": ("Never", STAYS), "Worker": ("ExitCode", dies)}
    specs = {
        role: {"replicas": 1, "restartPolicy": policy, "template": template("pytorch", command, told)}
        for role, (policy, command) in roles.items()
    }
    metadata = {"name": "j", "namespace": namespace}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": specs}}


def train_job(namespace: str, told: Path) -> list[Json]:
    """Two nodes, of which the second fails once; then JobSet makes both anew."""
    dies = DIES.replace("TIMES", "1").replace("CODE", "3")
    command = f'[ "$JOB_COMPLETION_INDEX" = 1 ] || {{ {STAYS}; }}\n{dies}'
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    spec = {"backoffLimit": 0, "template": template("node", command, told)}
    replicated = {"name": "node", "template": {"metadata": {"labels": step}, "spec": spec}}
    metadata = {"name": "j", "namespace": namespace}
    return [
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": metadata,
            "spec": {
                "mlPolicy": {"numNodes": 2},
                "template": {"spec": {"failurePolicy": {"maxRestarts": 3}, "replicatedJobs": [replicated]}},
            },
        },
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "j"}},
        },
    ]


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A directory that all containers see as /told."""
    os.chmod(tmp_path, 0o777)
    return tmp_path


def broken(generation: str, namespace: str, command: str, told: Path) -> list[Json]:
    """A job of three ranks that run the command; RANK is set."""
    metadata = {"name": "j", "namespace": namespace}
    pod = template("node" if generation == "v2" else "pytorch", command, told)
    (container,) = pod["spec"]["containers"]
    if generation == "v1":
        specs = {
            role: {"replicas": count, "restartPolicy": "Never", "template": pod}
            for role, count in {"Master": 1, "Worker": 2}.items()
        }
        spec = {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": specs}
        return [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}]
    runtime, job = train_job(namespace, told)
    container["command"] = ["sh", "-c", f"RANK=$JOB_COMPLETION_INDEX\n{command}"]
    jobs = runtime["spec"]["template"]["spec"]
    jobs["replicatedJobs"][0]["template"]["spec"] = {"backoffLimit": 0, "template": pod}
    del jobs["failurePolicy"]
    runtime["spec"]["mlPolicy"]["numNodes"] = 3
    return [runtime, job]


def row(cluster: Cluster, namespace: str) -> Json:
    """What `jobs` shows of the only job."""
    done = cluster.shunter("jobs", "-n", namespace, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: Json = json.loads(done.stdout)[0]
    return found


def has_recovered(cluster: Cluster, namespace: str, failures: int) -> Json:
    """The row of the job once it has failed so often and all of it is up; no pod that failed is left."""
    eventually(lambda: [row(cluster, namespace)[field] for field in ("failures", "up")] == [failures, 2], seconds=120)
    assert [pod["status"]["phase"] for pod in cluster.get("pods", "-n", namespace)["items"]] == ["Running", "Running"]
    return row(cluster, namespace)


def test_a_worker_that_was_replaced_three_times_is_not_forgotten(cluster: Cluster, namespace: str, told: Path) -> None:
    cluster.apply(pytorch_job(namespace, told))
    found = has_recovered(cluster, namespace, 3)
    assert (found["state"], found["wanted"]) == ("Running", 2)
    last = found["lastFailure"]
    assert (last["rank"], last["pod"], last["container"], last["exitCode"]) == (1, "j-worker-0", "pytorch", 137)
    assert last["time"]
    assert last["message"] == "out of luck"
    header, line = cluster.shunter("jobs", "-n", namespace).stdout.splitlines()
    assert {"UP/WANTED", "FAILURES"} <= set(header.split())
    assert " 2/2 " in line
    assert " 3 (rank 1 exit code 137, " in line
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "  Ranks    2 of 2 up\n" in described
    assert "Failures: 3 failures so far\n" in described
    assert "rank 1, pod j-worker-0, container pytorch: Error, exit code 137 (SIGKILL): out of luck" in described
    assert "        | out of luck\n" in described


def test_a_rank_that_failed_before_jobset_made_all_anew_is_not_forgotten(cluster: Cluster, namespace: str, told: Path) -> None:
    cluster.apply(*train_job(namespace, told))
    found = has_recovered(cluster, namespace, 1)
    assert (found["wanted"], found["restarts"]) == (2, {"made": 1, "used": 1, "most": 3})
    last = found["lastFailure"]
    assert (last["rank"], last["container"], last["exitCode"]) == (1, "node", 3)
    assert last["pod"].startswith("j-node-0-1-")
    assert " 1 (rank 1 exit code 3, " in cluster.shunter("jobs", "-n", namespace).stdout
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "Failures: 1 failure so far\n" in described
    assert f"rank 1, pod {last['pod']}, container node: Error, exit code 3" in described


LOST = """
if [ $RANK = 1 ]; then echo 'ValueError: no data in shard 7'; touch /told/failed; exit 3; fi
until [ -e /told/failed ]; do sleep 0.1; done
sleep 0.2; echo 'RuntimeError: [1] Connection closed by peer [10.0.0.1]:4711'; exit 1
"""
"""Rank 1 fails; the others lose their peer in the same second, or the next."""


def cause_of(text: str) -> str:
    """What `describe` says in its line Cause; it has one."""
    (line,) = (line for line in text.splitlines() if line.startswith("  Cause "))
    return line.removeprefix("  Cause ").strip()


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_every_command_names_the_rank_that_failed_first_also_without_its_pods(
    cluster: Cluster, namespace: str, generation: str, told: Path
) -> None:
    manifest = told / "job.json"
    manifest.write_text("\n---\n".join(json.dumps(one) for one in broken(generation, namespace, LOST, told)))
    followed = cluster.shunter("run", str(manifest))
    assert followed.returncode == 1, followed.stderr
    assert re.search(rf" {namespace}/j failed: \S+-[01]: exit code 3: ValueError: no data in shard 7\n", followed.stderr)
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert cause_of(described) in followed.stderr
    report = json.loads(cluster.shunter("doctor", "j", "-n", namespace, "-o", "json").stdout)
    diagnosed = report["verdicts"]
    assert report["ranks"] == 3
    assert (diagnosed[0]["ranks"], "ValueError: no data in shard 7" in diagnosed[0]["cause"]) == ([1], True)

    found = row(cluster, namespace)
    assert (found["state"], found["why"], found["wanted"]) == ("Failed", "ValueError", 3)
    assert found["cause"] == "rank 1: exit code 3: ValueError: no data in shard 7"
    assert " rank 1: ValueError " in cluster.shunter("jobs", "-n", namespace).stdout
    cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--now")
    assert row(cluster, namespace)["cause"] == found["cause"]
    assert cause_of(cluster.shunter("describe", "j", "-n", namespace).stdout) == found["cause"]


BUS_ERROR = "sh -c 'kill -BUS $$$$'; exit $?"
"""Kubernetes makes one $ of two."""


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_the_diagnosis_is_the_one_headline_of_describe_and_run(
    cluster: Cluster, namespace: str, generation: str, told: Path
) -> None:
    manifest = told / "job.json"
    manifest.write_text("\n---\n".join(json.dumps(one) for one in broken(generation, namespace, BUS_ERROR, told)))
    followed = cluster.shunter("run", str(manifest))
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    diagnosed = json.loads(cluster.shunter("doctor", "j", "-n", namespace, "-o", "json").stdout)["verdicts"]
    assert [one["id"] for one in diagnosed if one["confidence"] != "possible"] == ["K06"]
    assert cause_of(described) == diagnosed[0]["cause"]
    # Of ranks that end together the command may have seen some only.
    assert re.search(rf" {namespace}/j failed: ranks? [^:]* ended with SIGBUS \(exit code 135\)\n", followed.stderr)
    assert row(cluster, namespace)["why"] == "exit code 135 (SIGBUS)"
