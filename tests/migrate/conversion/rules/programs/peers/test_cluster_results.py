"""Requests to the cluster that have the same answer in v1 and in v2 are not told of."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.programs.test_cluster_requests import CLIENT, ids
from migrate.conversion.rules.test_indirect_reads import python, shell


@pytest.mark.parametrize(
    "text",
    [
        "kubectl get nodes",
        "NNODES=$(kubectl get nodes -o name | wc -l)",
        "kubectl label node $NODE a=b",
        "kubectl version --client; kubectl config use-context x; kubectl get --raw /healthz",
        "kubectl get configmap batch -o jsonpath={.data.size}",
        "kubectl create secret generic s --from-literal=a=b --dry-run=client -o yaml | kubectl apply -f -",
        "kubectl -n db get pods; kubectl get pods --namespace=db; kubectl get pods -ndb",
        "until kubectl get pods -l app=redis | grep -q Running; do sleep 1; done",
        "NNODES=$(kubectl get pods -l app=bert -o name | wc -l)",
        "NUM_SHARDS=$(kubectl get endpoints redis -o json | jq '[.subsets[].addresses[]] | length')",
        "kubectl get pod/redis-0 -o yaml; kubectl exec redis-0 -- redis-cli ping; kubectl logs deploy/redis",
        "P=$(kubectl get svc redis -o jsonpath='{.spec.ports[0].port}')",
        "kubectl get pods \\\n  -l app=redis -o name",
        "curl -LO https://dl.k8s.io/release/v1.36.0/kubectl && chmod +x ./kubectl && which kubectl",
        "until getent hosts kubernetes.default; do sleep 1; done",
        "curl -sk https://kubernetes.default/livez; curl -sk https://kubernetes.default/api/v1/nodes",
        "# kubectl get pods",
    ],
)
def test_a_shell_that_asks_for_other_objects_is_not_told_of(text: str) -> None:
    assert not ids(shell(f"{text}\npython train.py"))


@pytest.mark.parametrize(
    "code",
    [
        "main(num_nodes=len(v1.list_node().items))",
        'v1.read_namespaced_config_map("settings", "training")',
        'n = len(v1.list_namespaced_pod("s", label_selector="app=minio").items)',
    ],
)
def test_python_that_asks_for_other_objects_is_not_told_of(code: str) -> None:
    assert not ids(python(f"{CLIENT}{code}"))


@pytest.mark.parametrize(
    "command",
    [
        shell("kubectl get pods; python t.py"),
        shell("kubectl get pods -n training; python t.py"),
        shell("kubectl get pods -A | grep bert; python t.py"),
        shell("kubectl get nodes,pods; python t.py"),
        shell("kubectl get $KIND; python t.py"),
        shell("kubectl $ARGS; python t.py"),
        shell("K=kubectl; $K get pods; python t.py"),
        shell("kubectl exec $POD -- ls; kubectl logs bert-x; python t.py"),
        shell("kubectl get jobs; kubectl get events; kubectl get all; python t.py"),
        shell("curl -sk https://kubernetes.default/api/v1/namespaces/training/pods; python t.py"),
        python(f'{CLIENT}v1.list_namespaced_pod("training")'),
        python(f'{CLIENT}v1.list_namespaced_pod("training", label_selector=selector)'),
        python(f"{CLIENT}watch(v1)"),
        python('import subprocess\nsubprocess.run(["kubectl", "get", "pods"])'),
        python('import subprocess\nsubprocess.run(["kubectl"] + words)'),
    ],
)
def test_one_that_may_ask_for_pods_of_the_job_is(command: list[str]) -> None:
    assert ids(command) == {"HOST012"}
