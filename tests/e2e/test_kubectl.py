"""A plain kubectl on the embedded cluster: the verbs that people's fingers know."""

import json
from typing import Any

import pytest

from e2e.running_cluster import eventually

SLEEPER = {"name": "main", "image": "any:1", "command": ["sh", "-c", "echo hello; sleep 600"]}


def pod(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"containers": [SLEEPER], "terminationGracePeriodSeconds": 1, **spec},
    }


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def test_get_prints_tables_wide_yaml_and_json(cluster: Any, namespace: str) -> None:
    cluster.apply(pod("p", namespace))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "-n", namespace, "--timeout=20s")
    header, row = cluster.kubectl("get", "pods", "-n", namespace).splitlines()
    assert header.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["p", "1/1", "Running", "0"]
    assert "NODE" in cluster.kubectl("get", "pods", "-n", namespace, "-o", "wide").splitlines()[0]
    assert "kind: Pod" in cluster.kubectl("get", "pod", "p", "-n", namespace, "-o", "yaml")
    assert cluster.get("pods", "-n", namespace, "-l", "app=p")["items"][0]["metadata"]["name"] == "p"
    assert cluster.get("pods", "-n", namespace, "-l", "app!=p")["items"] == []
    assert cluster.get("pods", "-n", namespace, "--field-selector", "status.phase=Running")["items"]


def test_get_watches(cluster: Any, namespace: str) -> None:
    with cluster.start_kubectl("get", "configmaps", "-n", namespace, "-w", "-o", "name") as watch:
        try:
            cluster.apply(config_map("watched", namespace))
            names = iter(watch.stdout.readline, "")
            assert next(name for name in names if "watched" in name)
        finally:
            watch.kill()


def test_apply_client_side_and_server_side_and_conflicts(cluster: Any, namespace: str) -> None:
    first = json.dumps(config_map("c", namespace, a="1"))
    assert "created" in cluster.kubectl("apply", "-f", "-", stdin=first)
    assert "unchanged" in cluster.kubectl("apply", "-f", "-", stdin=first)
    second = json.dumps(config_map("c", namespace, a="2", b="1"))
    assert "configured" in cluster.kubectl("apply", "-f", "-", stdin=second)
    cluster.kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", "--force-conflicts", stdin=second)
    third = json.dumps(config_map("c", namespace, a="3"))
    refused = cluster.try_kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=third)
    assert refused.returncode != 0
    assert 'conflict with "one"' in refused.stderr
    cluster.kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", stdin=third)
    assert cluster.get("configmap", "c", "-n", namespace)["data"] == {"a": "3", "b": "1"}


def test_create_delete_and_the_errors_between(cluster: Any, namespace: str) -> None:
    text = json.dumps(config_map("c", namespace))
    cluster.kubectl("create", "-f", "-", stdin=text)
    again = cluster.try_kubectl("create", "-f", "-", stdin=text)
    assert "(AlreadyExists)" in again.stderr
    cluster.kubectl("delete", "configmap", "c", "-n", namespace)
    assert "(NotFound)" in cluster.try_kubectl("get", "configmap", "c", "-n", namespace).stderr


def test_typed_create_commands_speak_protobuf(cluster: Any, namespace: str) -> None:
    cluster.kubectl("create", "configmap", "from-literal", "-n", namespace, "--from-literal=a=b")
    cluster.kubectl("create", "secret", "generic", "s", "-n", namespace, "--from-literal=a=b")
    cluster.kubectl("create", "job", "j", "-n", namespace, "--image=any:1", "--", "true")
    assert cluster.get("configmap", "from-literal", "-n", namespace)["data"] == {"a": "b"}
    assert cluster.get("secret", "s", "-n", namespace)["data"] == {"a": "Yg=="}
    cluster.kubectl("wait", "--for=condition=Complete", "job/j", "-n", namespace, "--timeout=30s")


def test_describe_shows_events(cluster: Any, namespace: str) -> None:
    cluster.apply(pod("p", namespace))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "-n", namespace, "--timeout=20s")
    eventually(lambda: {"Scheduled", "Started"} <= set(cluster.kubectl("describe", "pod", "p", "-n", namespace).split()))


def test_logs_follow_and_end_with_the_container(cluster: Any, namespace: str) -> None:
    talker = {**SLEEPER, "command": ["sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done"]}
    cluster.apply(pod("p", namespace, containers=[talker], restartPolicy="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.startTime}", "pod/p", "-n", namespace, "--timeout=20s")
    cluster.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].state}", "pod/p", "-n", namespace, "--timeout=20s")
    followed = ""
    for _ in range(50):
        done = cluster.try_kubectl("logs", "-f", "p", "-n", namespace)
        if done.returncode == 0:
            followed = done.stdout
            break
    assert followed == "line 1\nline 2\nline 3\n"
    assert cluster.kubectl("logs", "p", "-n", namespace, "--tail=1") == "line 3\n"


def test_debug_looks_into_a_running_container(cluster: Any, namespace: str) -> None:
    """Its processes are those of the container that it looks into, whose pod does not notice."""
    look = "echo looking; exec sleep 600"
    cluster.apply(pod("p", namespace))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "-n", namespace, "--timeout=20s")
    before = cluster.get("pod", "p", "-n", namespace)["status"]
    cluster.kubectl("debug", "p", "-n", namespace, "--image=any:1", "--target=main", "-c", "look", "--", "sh", "-c", look)
    running = "jsonpath={.status.ephemeralContainerStatuses[0].state.running}"
    cluster.kubectl("wait", f"--for={running}", "pod/p", "-n", namespace, "--timeout=20s")
    shown = cluster.kubectl("exec", "p", "-n", namespace, "-c", "look", "--", "sh", "-c", 'tr "\\0" " " < /proc/1/cmdline')
    assert shown.strip() == "sh -c echo hello; sleep 600"
    eventually(lambda: cluster.kubectl("logs", "p", "-n", namespace, "-c", "look") == "looking\n")
    after = cluster.get("pod", "p", "-n", namespace)["status"]
    assert (after["phase"], after["containerStatuses"]) == (before["phase"], before["containerStatuses"])
    again = cluster.try_kubectl("debug", "p", "-n", namespace, "--image=any:1", "-c", "look", "--", "true")
    assert again.returncode != 0
    cluster.kubectl("delete", "pod", "p", "-n", namespace, "--timeout=20s")


def test_wait_events_api_resources_and_explain(cluster: Any, namespace: str) -> None:
    cluster.apply(pod("p", namespace))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "-n", namespace, "--timeout=20s")
    eventually(lambda: "Started" in cluster.kubectl("events", "-n", namespace))
    resources = cluster.kubectl("api-resources")
    for kind in ("PyTorchJob", "TrainJob", "ClusterTrainingRuntime", "JobSet", "Pod", "Job"):
        assert kind in resources
    assert "containers" in cluster.kubectl("explain", "pod.spec")
    assert "runtimeRef" in cluster.kubectl("explain", "trainjob.spec")
    assert "pytorchReplicaSpecs" in cluster.kubectl("explain", "pytorchjob.spec")


def test_a_dry_run_changes_nothing_and_a_patch_does(cluster: Any, namespace: str) -> None:
    text = json.dumps(config_map("c", namespace, a="1"))
    cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
    assert cluster.try_kubectl("get", "configmap", "c", "-n", namespace).returncode != 0
    cluster.kubectl("apply", "-f", "-", stdin=text)
    cluster.kubectl("patch", "configmap", "c", "-n", namespace, "--type=merge", "-p", '{"data":{"a":"2"}}')
    cluster.kubectl("label", "configmap", "c", "-n", namespace, "team=red")
    found = cluster.get("configmap", "c", "-n", namespace)
    assert (found["data"], found["metadata"]["labels"]) == ({"a": "2"}, {"team": "red"})


@pytest.mark.parametrize("kind", ["clustertrainingruntimes", "crds", "nodes", "namespaces"])
def test_what_the_cluster_comes_with_is_listed(cluster: Any, kind: str) -> None:
    assert cluster.get(kind)["items"]


def test_deleting_a_namespace_removes_what_is_in_it(cluster: Any) -> None:
    cluster.create_namespace("short-lived")
    cluster.apply(pod("p", "short-lived"), config_map("c", "short-lived"))
    cluster.kubectl("delete", "namespace", "short-lived", "--timeout=40s")
    assert "(NotFound)" in cluster.try_kubectl("get", "namespace", "short-lived").stderr
    assert cluster.get("pods", "-A", "--field-selector=metadata.namespace=short-lived")["items"] == []
