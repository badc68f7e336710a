"""Workloads of Kubernetes itself, through kubectl: the same on both kinds of cluster, status field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

pytestmark = pytest.mark.timeout(300)


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "any:1", "command": ["sleep", "600"]}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": {"metadata": {"labels": labels}, "spec": pod}, **spec},
    }


def apply(cluster: Cluster, namespace: str, *objects: dict[str, Any]) -> None:
    for obj in objects:
        obj["metadata"]["namespace"] = namespace
    cluster.apply(*objects)


def rolled_out(cluster: Cluster, namespace: str, name: str) -> None:
    cluster.kubectl("rollout", "status", name, "-n", namespace, "--timeout=90s", timeout=100)


def status(cluster: Cluster, namespace: str, *name: str) -> dict[str, Any]:
    """Without times; what conditions say, by their type."""
    found: dict[str, Any] = cluster.get(*name, "-n", namespace)["status"]
    if "conditions" in found:
        found["conditions"] = {one["type"]: [one["status"], one["reason"]] for one in found["conditions"]}
    return found


def events(cluster: Cluster, namespace: str, kind: str) -> set[tuple[str, str, str]]:
    """Type, reason and component of the events about a kind."""
    items = cluster.get("events", "-n", namespace)["items"]
    mine = [one for one in items if one["involvedObject"]["kind"] == kind]
    return {(one["type"], one["reason"], one.get("reportingComponent") or one["source"]["component"]) for one in mine}


def images(cluster: Cluster, namespace: str, app: str) -> list[str]:
    pods = cluster.get("pods", "-n", namespace, "-l", f"app={app}")["items"]
    return sorted(pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"])


def test_a_deployment_rolls_out_goes_back_pauses_and_scales(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, workload("Deployment", "web", replicas=2))
    rolled_out(cluster, namespace, "deploy/web")
    eventually(
        lambda: (
            status(cluster, namespace, "deploy", "web")
            == {
                "observedGeneration": 1,
                "replicas": 2,
                "updatedReplicas": 2,
                "readyReplicas": 2,
                "availableReplicas": 2,
                "terminatingReplicas": 0,
                "conditions": {
                    "Available": ["True", "MinimumReplicasAvailable"],
                    "Progressing": ["True", "NewReplicaSetAvailable"],
                },
            }
        )
    )
    (replica_set,) = cluster.get("rs", "-n", namespace)["items"]
    digest = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{digest}"
    assert replica_set["metadata"]["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    }
    assert replica_set["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": digest}}
    assert replica_set["status"] == {
        "observedGeneration": 1,
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    cluster.kubectl("set", "image", "deploy/web", "c=any:2", "-n", namespace)
    rolled_out(cluster, namespace, "deploy/web")
    eventually(lambda: images(cluster, namespace, "web") == ["any:2"] * 2)
    assert "REVISION" in (history := cluster.kubectl("rollout", "history", "deploy/web", "-n", namespace))
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
    cluster.kubectl("rollout", "undo", "deploy/web", "-n", namespace)
    rolled_out(cluster, namespace, "deploy/web")
    eventually(lambda: images(cluster, namespace, "web") == ["any:1"] * 2)
    history = cluster.kubectl("rollout", "history", "deploy/web", "-n", namespace)
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"]

    cluster.kubectl("rollout", "pause", "deploy/web", "-n", namespace)
    cluster.kubectl("set", "image", "deploy/web", "c=any:3", "-n", namespace)
    cluster.kubectl("scale", "deploy/web", "--replicas=3", "-n", namespace)
    eventually(lambda: status(cluster, namespace, "deploy", "web").get("availableReplicas") == 3)
    paused = status(cluster, namespace, "deploy", "web")
    assert paused["conditions"]["Progressing"] == ["Unknown", "DeploymentPaused"]
    assert images(cluster, namespace, "web") == ["any:1"] * 3
    cluster.kubectl("rollout", "resume", "deploy/web", "-n", namespace)
    rolled_out(cluster, namespace, "deploy/web")
    eventually(lambda: images(cluster, namespace, "web") == ["any:3"] * 3)
    cluster.kubectl("rollout", "restart", "deploy/web", "-n", namespace)
    rolled_out(cluster, namespace, "deploy/web")
    assert "Progressing    True    NewReplicaSetAvailable" in cluster.kubectl("describe", "deploy", "web", "-n", namespace)
    scaled = {("Normal", "ScalingReplicaSet", "deployment-controller")}
    eventually(lambda: events(cluster, namespace, "Deployment") == scaled)
    replaced = {
        ("Normal", "SuccessfulCreate", "replicaset-controller"),
        ("Normal", "SuccessfulDelete", "replicaset-controller"),
    }
    eventually(lambda: events(cluster, namespace, "ReplicaSet") == replaced)


def test_recreate_and_a_rollout_that_is_late(cluster: Cluster, namespace: str) -> None:
    late = workload("Deployment", "late", replicas=1, strategy={"type": "Recreate"}, progressDeadlineSeconds=2)
    apply(cluster, namespace, late)
    rolled_out(cluster, namespace, "deploy/late")
    container = {"name": "c", "readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    cluster.kubectl("patch", "deploy", "late", "-n", namespace, "-p", json.dumps(patch))
    refused = cluster.try_kubectl("rollout", "status", "deploy/late", "-n", namespace, "--timeout=60s", timeout=90)
    assert 'deployment "late" exceeded its progress deadline' in refused.stderr
    assert status(cluster, namespace, "deploy", "late")["conditions"] == {
        "Available": ["False", "MinimumReplicasUnavailable"],
        "Progressing": ["False", "ProgressDeadlineExceeded"],
    }


def test_a_stateful_set_keeps_names_claims_and_order(cluster: Cluster, namespace: str) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    stateful = workload("StatefulSet", "db", replicas=2, serviceName="db")
    if cluster.kind == "embedded":  # no volumes are made on the real control plane
        stateful["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    apply(cluster, namespace, stateful)
    rolled_out(cluster, namespace, "sts/db")
    pods = cluster.get("pods", "-n", namespace, "-l", "app=db")["items"]
    assert sorted(pod["metadata"]["name"] for pod in pods) == ["db-0", "db-1"]
    if cluster.kind == "embedded":
        assert sorted(one["metadata"]["name"] for one in cluster.get("pvc", "-n", namespace)["items"]) == [
            "data-db-0",
            "data-db-1",
        ]
    found = status(cluster, namespace, "sts", "db")
    revision = found["updateRevision"]
    assert found == {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "availableReplicas": 2,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    first = next(pod for pod in pods if pod["metadata"]["name"] == "db-0")
    assert first["metadata"]["labels"] == {
        "app": "db",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "db-0",
    }
    cluster.kubectl(
        "patch", "sts", "db", "-n", namespace, "-p", '{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}}'
    )
    cluster.kubectl("set", "image", "sts/db", "c=any:2", "-n", namespace)
    eventually(lambda: images(cluster, namespace, "db") == ["any:1", "any:2"])
    rolled_out(cluster, namespace, "sts/db")
    cluster.kubectl("rollout", "undo", "sts/db", "-n", namespace)
    rolled_out(cluster, namespace, "sts/db")
    eventually(lambda: images(cluster, namespace, "db") == ["any:1"] * 2)
    cluster.kubectl("scale", "sts/db", "--replicas=1", "-n", namespace)
    eventually(lambda: [pod["metadata"]["name"] for pod in cluster.get("pods", "-n", namespace)["items"]] == ["db-0"])
    wanted = {"Create Pod db-0 in StatefulSet db successful", "Delete Pod db-1 in StatefulSet db successful"}
    about = ("events", "-n", namespace, "--field-selector=involvedObject.kind=StatefulSet")
    eventually(lambda: wanted <= {one["message"] for one in cluster.get(*about)["items"]})


def test_a_daemon_set_runs_on_the_node_and_is_updated(cluster: Cluster, namespace: str) -> None:
    daemon = workload("DaemonSet", "agent")
    daemon["spec"]["template"]["spec"]["tolerations"] = [
        {"key": "shunter.dev/process", "operator": "Exists"}
    ]  # of the real cluster's node
    apply(cluster, namespace, daemon)
    rolled_out(cluster, namespace, "ds/agent")
    assert status(cluster, namespace, "ds", "agent") == {
        "observedGeneration": 1,
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
    }
    (pod,) = cluster.get("pods", "-n", namespace, "-l", "app=agent")["items"]
    assert pod["metadata"]["labels"]["pod-template-generation"] == "1"
    keys = {one.get("key") for one in pod["spec"]["tolerations"]}
    assert {f"node.kubernetes.io/{key}" for key in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")} <= keys
    cluster.kubectl("set", "image", "ds/agent", "c=any:2", "-n", namespace)
    rolled_out(cluster, namespace, "ds/agent")
    eventually(lambda: images(cluster, namespace, "agent") == ["any:2"])
    cluster.kubectl("rollout", "undo", "ds/agent", "-n", namespace)
    rolled_out(cluster, namespace, "ds/agent")
    eventually(lambda: images(cluster, namespace, "agent") == ["any:1"])
    revisions = cluster.get("controllerrevisions", "-n", namespace)["items"]
    assert sorted(one["revision"] for one in revisions) == [2, 3]


def test_a_replication_controller_keeps_its_pods_and_adopts(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, workload("ReplicationController", "old", replicas=2))
    wanted = {
        "observedGeneration": 1,
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    eventually(lambda: status(cluster, namespace, "rc", "old") == wanted)
    before = cluster.get("pods", "-n", namespace)["items"]
    cluster.kubectl("label", "pod", before[0]["metadata"]["name"], "app=mine", "--overwrite", "-n", namespace)
    eventually(lambda: len(cluster.get("pods", "-n", namespace)["items"]) == 3)
    released = cluster.get("pods", "-n", namespace, "-l", "app=mine")["items"][0]
    assert "ownerReferences" not in released["metadata"]


def test_a_cron_job_starts_jobs_each_minute_and_says_what_it_saw(cluster: Cluster, namespace: str) -> None:
    container = {"name": "c", "image": "any:1", "command": ["true"]}
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {"schedule": "* * * * *", "timeZone": "Asia/Kolkata", "jobTemplate": {"spec": job}},
    }
    apply(cluster, namespace, cron)
    eventually(lambda: "lastSuccessfulTime" in cluster.get("cronjob", "tick", "-n", namespace)["status"], seconds=120)
    (started,) = cluster.get("jobs", "-n", namespace)["items"]
    annotations = started["metadata"]["annotations"]
    assert annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"].endswith(":00+05:30")
    assert set(cluster.get("cronjob", "tick", "-n", namespace)["status"]) == {"lastScheduleTime", "lastSuccessfulTime"}
    wanted = {
        ("Normal", "SuccessfulCreate", "cronjob-controller"),
        ("Normal", "SawCompletedJob", "cronjob-controller"),
    }
    eventually(lambda: events(cluster, namespace, "CronJob") == wanted)


def test_a_quota_bounds_a_deployment_and_a_budget_holds_up_evictions(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("create", "quota", "q", "--hard=pods=2", "-n", namespace)
    eventually(lambda: "used" in status(cluster, namespace, "quota", "q"))
    apply(cluster, namespace, workload("Deployment", "web", replicas=3))
    eventually(lambda: status(cluster, namespace, "deploy", "web").get("availableReplicas") == 2)
    eventually(lambda: status(cluster, namespace, "quota", "q") == {"hard": {"pods": "2"}, "used": {"pods": "2"}})
    eventually(
        lambda: status(cluster, namespace, "deploy", "web")["conditions"].get("ReplicaFailure") == ["True", "FailedCreate"]
    )
    told = {one["message"] for one in cluster.get("events", "-n", namespace)["items"] if one["reason"] == "FailedCreate"}
    assert all("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in message for message in told)

    cluster.kubectl("create", "pdb", "b", "--selector=app=web", "--min-available=2", "-n", namespace)
    wanted = {
        "observedGeneration": 1,
        "currentHealthy": 2,
        "desiredHealthy": 2,
        "disruptionsAllowed": 0,
        "expectedPods": 2,
        "conditions": {"DisruptionAllowed": ["False", "InsufficientPods"]},
    }
    eventually(lambda: status(cluster, namespace, "pdb", "b") == wanted)
    pod = cluster.get("pods", "-n", namespace)["items"][0]["metadata"]["name"]
    with pytest.raises(AssertionError, match="Cannot evict pod as it would violate the pod's disruption budget"):
        cluster.evict(pod, namespace)
    cluster.kubectl("patch", "pdb", "b", "-n", namespace, "-p", '{"spec": {"minAvailable": 1}}')
    eventually(lambda: status(cluster, namespace, "pdb", "b")["disruptionsAllowed"] == 1)
    cluster.evict(pod, namespace)
