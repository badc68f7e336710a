"""Jobs of Kubernetes itself, with ranks and without, through the command."""

import json
import re
import subprocess
from typing import Any

import pytest

from e2e.running_cluster import SHUNTER, Cluster

pytestmark = pytest.mark.timeout(180)
LONG = "a-name-as-long-as-kubernetes-lets-that-of-an-indexed-job-beco"
"""The pod of rank 2 has a host name of 63 characters."""


def native(namespace: str, name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "trainer", "image": "any:1", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "completionMode": "Indexed",
            "completions": 3,
            "parallelism": 3,
            "backoffLimit": 0,
            "template": {"spec": pod},
            **spec,
        },
    }


def test_an_indexed_job_is_run_followed_and_listed_by_rank(cluster: Cluster, namespace: str) -> None:
    job = native(namespace, LONG, "echo I am $JOB_COMPLETION_INDEX")
    done = cluster.shunter("run", "-", stdin=json.dumps(job), timeout=120)
    assert done.returncode == 0, done.stderr
    said = [f"[rank-{rank}] I am {rank}" for rank in range(3)]
    assert sorted(done.stdout.splitlines()) == said
    assert f"Job {namespace}/{LONG} succeeded" in done.stderr
    assert cluster.shunter("logs", LONG, "-n", namespace).stdout.splitlines() == said
    assert cluster.shunter("logs", f"job/{LONG}", "-n", namespace, "--rank", "1").stdout.splitlines() == said[1:2]
    for terminal in ({}, {"COLUMNS": "30"}, {"FORCE_COLOR": "1", "COLUMNS": "30"}):
        environment = {name: value for name, value in cluster.environment.items() if name != "COLUMNS"} | terminal
        listed = subprocess.run(
            [*SHUNTER, "jobs", "-n", namespace], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        header, row = re.sub(r"\x1b\[[0-9;]*m", "", listed.stdout).splitlines()
        assert {"NAMESPACE", "NAME", "KIND", "STATE", "UP/WANTED"} <= set(header.split())
        assert row.split()[:5] == [namespace, LONG, "Job", "Succeeded", "0/3"]
    assert "rank-2       rank 2   Succeeded" in cluster.shunter("describe", LONG, "-n", namespace).stdout
    again = cluster.shunter("run", "-", stdin=json.dumps(job))
    assert (again.returncode, "exists and is Succeeded; it would not run again" in again.stderr) == (2, True)
    assert cluster.shunter("delete", LONG, "-n", namespace).returncode == 0
    assert cluster.get("pods", "-n", namespace)["items"] == []


def test_a_failed_indexed_job_ends_with_its_first_failure(cluster: Cluster, namespace: str) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 1 ] && { echo no data >&2; exit 3; }; sleep 600'
    done = cluster.shunter("run", "-", stdin=json.dumps(native(namespace, "fails", script)), timeout=120)
    assert done.returncode == 1
    assert f"Job {namespace}/fails failed" in done.stderr
    assert "container trainer: Error, exit code 3" in done.stderr
    assert done.stderr.count("no data") == 1, done.stderr


def test_a_job_without_ranks_is_applied_and_said_not_to_be_followed(cluster: Cluster, namespace: str) -> None:
    plain = native(namespace, "plain", "true", completionMode="NonIndexed")
    done = cluster.shunter("run", "-", stdin=json.dumps(plain))
    assert done.returncode == 0
    assert f"Job {namespace}/plain is not followed: it has no ranks (its spec.completionMode is not Indexed)" in done.stderr
    assert cluster.get("job", "plain", "-n", namespace)["spec"]["completionMode"] == "NonIndexed"
    assert json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout) == []
    assert "there is no job 'plain'" in cluster.shunter("logs", "plain", "-n", namespace).stderr


def test_jobs_of_a_trainjob_are_not_listed_beside_it(cluster: Cluster, namespace: str) -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t", "namespace": namespace},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"image": "any:1", "command": ["true"]}},
    }
    assert cluster.shunter("run", "-", stdin=json.dumps(job), timeout=120).returncode == 0
    assert cluster.get("jobs", "-n", namespace)["items"]
    listed = json.loads(cluster.shunter("jobs", "-n", namespace, "-o", "json").stdout)
    assert [(row["kind"], row["name"]) for row in listed] == [("TrainJob", "t")]
