"""`shunter install` on a real control plane: nothing it ships is rejected, warned about or more than was asked for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.process_cluster import ProcessCluster
from control_plane import ControlPlane
from e2e.running_cluster import KUBECTL
from install.charts import rendered

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "some namespaces": {"namespaces": ["team-a", "team-b"]},
    "one kind": {"kinds": {"TrainJob": False}},
    "the other kind": {"kinds": {"PyTorchJob": False}},
    "one replica, pinned": {"replicas": 1, "image": {"digest": "sha256:" + "0f" * 32, "pullSecrets": [{"name": "registry"}]}},
    "certificate provided": {"certificates": {"mode": "provided", "caBundle": "QUJD", "secretName": "ours"}},
    "placed": {
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "control-plane", "operator": "Exists"}],
        "priorityClassName": "system-cluster-critical",
    },
    "bare": {"networkPolicy": {"enabled": False}, "runtimes": {"enabled": False}, "userRoles": {"enabled": False}},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("install") / "plane") as plane:
        yield plane


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> ProcessCluster:
    """Without its node: pods that nobody runs will do here."""
    found = ProcessCluster(plane, tmp_path_factory.mktemp("node"))
    found.must("kubectl apply --server-side -k deploy/crds && kubectl wait crd --all --for=condition=Established --timeout=60s")
    found.must("for n in team-a team-b; do kubectl create namespace $n; done; kubectl create namespace shunter-system")
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_server_takes_every_object_with_no_unknown_field_and_no_warning(cluster: ProcessCluster, variant: str) -> None:
    values = {"namespace": {"create": True}, **VARIANTS[variant]}
    text = "\n---\n".join(json.dumps(obj) for obj in rendered(values))
    done = subprocess.run(
        [KUBECTL, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"],
        env=cluster.environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_operators_pods_pass_pod_security_restricted_with_no_user_named(cluster: ProcessCluster, variant: str) -> None:
    cluster.must("kubectl label --overwrite namespace shunter-system pod-security.kubernetes.io/enforce=restricted")
    deployment = next(obj for obj in rendered(VARIANTS[variant]) if obj["kind"] == "Deployment")
    spec = {**deployment["spec"]["template"]["spec"], "serviceAccountName": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "shunter-system"}, "spec": spec}
    done = subprocess.run(
        [KUBECTL, "create", "--dry-run=server", "--validate=strict", "-f", "-"],
        env=cluster.environment,
        input=json.dumps(pod),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    contexts = [spec["securityContext"], *(container["securityContext"] for container in spec["containers"])]
    assert not any(field in context for context in contexts for field in ("runAsUser", "runAsGroup", "fsGroup"))
    assert all(container["securityContext"]["readOnlyRootFilesystem"] for container in spec["containers"])


def test_who_may_not_install_is_told_every_missing_permission_and_nothing_is_written(
    cluster: ProcessCluster, plane: ControlPlane
) -> None:
    somebody = plane.kubeconfig_for("somebody", ["system:authenticated"])
    done = cluster.run("shunter install --set namespaces=[team-a] --no-wait", kubeconfig=somebody)
    assert done.returncode == 3
    assert "no permission to create/get/list/patch clusterrolebindings.rbac.authorization.k8s.io, " in done.stderr
    assert "create/get/patch roles.rbac.authorization.k8s.io in namespace team-a" in done.stderr
    assert cluster.must("kubectl get clusterroles -o name -l app.kubernetes.io/part-of=shunter") == ""


def test_who_may_not_give_permissions_away_is_told_so_and_an_administrator_completes_it(
    cluster: ProcessCluster, plane: ControlPlane
) -> None:
    """Kubernetes lets nobody grant what they do not have, which is only seen when the role is written."""
    cluster.must(
        "kubectl create clusterrole builder --verb=get,list,create,patch,delete --resource="
        "namespaces,serviceaccounts,configmaps,services,deployments.apps,poddisruptionbudgets.policy,networkpolicies.networking.k8s.io,"
        "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,clusterroles.rbac.authorization.k8s.io,"
        "clusterrolebindings.rbac.authorization.k8s.io,customresourcedefinitions.apiextensions.k8s.io,"
        "validatingwebhookconfigurations.admissionregistration.k8s.io,mutatingwebhookconfigurations.admissionregistration.k8s.io,"
        "clustertrainingruntimes.trainer.kubeflow.org\n"
        "kubectl create clusterrolebinding builder --clusterrole=builder --user=builder"
    )
    builder = plane.kubeconfig_for("builder", ["system:authenticated"])
    refused = cluster.run("shunter install --no-wait", kubeconfig=builder)
    assert refused.returncode == 3
    assert "ClusterRole shunter-operator" in refused.stderr
    assert "attempting to grant RBAC permissions not currently held" in refused.stderr
    assert "ask a cluster administrator to install" in refused.stderr
    completed = cluster.must("shunter install --no-wait")
    assert "created ServiceAccount" not in completed, "the first run did that"
    assert "created Deployment shunter-system/shunter-operator" in completed
    assert cluster.must("shunter install --no-wait").strip().endswith("unchanged")
    cluster.must("shunter uninstall; kubectl delete clusterrole,clusterrolebinding builder")


def test_an_operator_that_does_not_come_is_reported_with_the_reason_of_its_pods(cluster: ProcessCluster) -> None:
    """No node runs them here."""
    done = cluster.run("shunter install --timeout 5")
    assert done.returncode == 3
    assert "the operator does not work after 5 s: 0 of 2 pods are ready; no nodes available to schedule pods" in done.stderr
    cluster.must("shunter uninstall")


def test_a_release_of_helm_is_left_to_helm(cluster: ProcessCluster) -> None:
    cluster.must("helm install shunter deploy/chart --namespace shunter-system")
    refused = cluster.run("shunter install --no-wait")
    assert refused.returncode == 3
    assert "belongs to Helm release shunter-system/shunter" in refused.stderr
    cluster.must("helm uninstall shunter --namespace shunter-system")


def test_helm_refuses_a_cluster_without_jobset_unless_told_not_to(cluster: ProcessCluster, tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "plane", parts=["kube-controller-manager"]) as bare:
        install = "helm install shunter deploy/chart --namespace shunter-system --create-namespace"
        refused = cluster.run(install, kubeconfig=bare.kubeconfig)
        assert "does not serve jobset.x-k8s.io/v1alpha2" in refused.stderr
        refused = cluster.run("shunter install", kubeconfig=bare.kubeconfig)
        assert "JobSet is not installed" in refused.stderr
        done = cluster.run(f"{install} --set kinds.TrainJob=false", kubeconfig=bare.kubeconfig)
        assert done.returncode == 0, done.stderr
