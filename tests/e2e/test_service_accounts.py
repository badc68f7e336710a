"""What a program in a pod finds of the pod's service account."""

from __future__ import annotations

import json

from e2e.running_cluster import Cluster, eventually

ASK = """
import kubernetes
kubernetes.config.load_incluster_config()
try:
    kubernetes.client.CoreV1Api().list_namespaced_pod("default")
except kubernetes.client.ApiException as error:
    print(error.status, error.body)
"""


def test_the_official_client_in_a_pod_is_known_as_the_default_account(cluster: Cluster, namespace: str) -> None:
    main = {"name": "main", "image": "any", "command": ["python", "-c", ASK]}
    pod = {"restartPolicy": "Never", "containers": [main]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": pod})
    cluster.kubectl("wait", "-n", namespace, "pod/p", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    said = cluster.kubectl("logs", "-n", namespace, "p")
    assert said.startswith("403 "), said
    assert f"system:serviceaccount:{namespace}:default" in said


def test_a_pod_of_a_namespace_that_was_made_with_it_runs_at_once(cluster: Cluster, namespace: str) -> None:
    """Its account and the authority that its token's volume needs are made by a controller, at the same time."""
    new = f"{namespace}-new"
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": ["true"]}]}
    metadata = {"name": "p", "namespace": new}
    try:
        cluster.apply(cluster.namespace(new), {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})
        cluster.kubectl("wait", "-n", new, "pod/p", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    finally:
        cluster.kubectl("delete", "namespace", new, "--wait=false")


def test_a_job_whose_account_does_not_exist_says_so(cluster: Cluster, namespace: str) -> None:
    main = {"name": "main", "image": "any", "command": ["true"]}
    pod = {"restartPolicy": "Never", "serviceAccountName": "nobody", "containers": [main]}
    metadata = {"name": "j", "namespace": namespace}
    cluster.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}})

    def said() -> list[str]:
        events = json.loads(cluster.kubectl("get", "events", "-n", namespace, "-o", "json"))["items"]
        return [event["message"] for event in events if event["reason"] == "FailedCreate"]

    first = eventually(said)[0]
    assert f'error looking up service account {namespace}/nobody: serviceaccount "nobody" not found' in first


def test_jax_finds_its_peers_by_asking_the_cluster(cluster: Cluster, namespace: str) -> None:
    """`initialize()` without arguments asks for pod, Job and Service as the pod's account, and resolves the pod of index 0."""
    rules = [
        {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
    ]
    script = "import jax; jax.distributed.initialize(); print('rank', jax.process_index(), 'of', jax.process_count())"
    main = {
        "name": "main",
        "image": "any",
        "command": ["python", "-c", script],
        "env": [{"name": "JAX_PLATFORMS", "value": "cpu"}],
    }
    pod = {"serviceAccountName": "jax", "subdomain": "peers", "restartPolicy": "Never", "containers": [main]}
    job = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 0, "template": {"spec": pod}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "jax"}

    def named(version: str, kind: str, name: str, **fields: object) -> dict[str, object]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}

    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": "peers"}}
    subjects = [{"kind": "ServiceAccount", "name": "jax", "namespace": namespace}]
    cluster.apply(
        named("v1", "ServiceAccount", "jax"),
        named("rbac.authorization.k8s.io/v1", "Role", "jax", rules=rules),
        named("rbac.authorization.k8s.io/v1", "RoleBinding", "jax", roleRef=role, subjects=subjects),
        named("v1", "Service", "peers", spec=service),
        named("batch/v1", "Job", "peers", spec=job),
    )
    cluster.kubectl("wait", "-n", namespace, "job/peers", "--for=condition=Complete", "--timeout=120s", timeout=150)
    said = cluster.kubectl("logs", "-n", namespace, "-l", "job-name=peers")
    assert sorted(said.splitlines()) == ["rank 0 of 2", "rank 1 of 2"]
