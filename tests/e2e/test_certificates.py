"""How a person gets a certificate of the cluster, and what it is good for."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import Cluster, eventually
from signing_requests import key_pem, new_key, request_pem

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
USAGES = ("digital signature", "client auth")


def signing_request(name: str, pem: bytes, signer: str = CLIENT, usages: tuple[str, ...] = USAGES) -> str:
    spec = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": usages, "expirationSeconds": 3600}
    metadata = {"name": name}
    body = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": metadata, "spec": spec}
    return json.dumps(body)


def state(cluster: Cluster, name: str) -> str:
    """The cell CONDITION."""
    return cluster.kubectl("get", "csr", name, "--no-headers").split()[-1]


def kubeconfig_with(cluster: Cluster, path: Path, certificate: bytes, key: bytes) -> Path:
    config: dict[str, Any] = yaml.safe_load(cluster.kubeconfig.read_text())
    encoded = {"client-certificate-data": certificate, "client-key-data": key}
    config["users"][0]["user"] = {name: base64.b64encode(pem).decode() for name, pem in encoded.items()}
    path.write_text(json.dumps(config))
    return path


def test_a_person_gets_a_certificate_and_may_do_what_the_roles_of_its_group_allow(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    name, key = f"{namespace}-jane", new_key()
    cluster.kubectl("create", "-f", "-", stdin=signing_request(name, request_pem("jane", f"{namespace}-dev", key=key)))
    try:
        assert state(cluster, name) == "Pending"
        cluster.kubectl("certificate", "approve", name)
        eventually(lambda: state(cluster, name) == "Approved,Issued")
        certificate = base64.b64decode(cluster.kubectl("get", "csr", name, "-o", "jsonpath={.status.certificate}"))
    finally:
        cluster.kubectl("delete", "csr", name)
    own = kubeconfig_with(cluster, tmp_path / "kubeconfig", certificate, key_pem(key))
    as_jane = ("--kubeconfig", str(own), "-n", namespace)
    who = json.loads(cluster.kubectl(*as_jane, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert (who["username"], who["groups"]) == ("jane", [f"{namespace}-dev", "system:authenticated"])
    refused = cluster.try_kubectl(*as_jane, "get", "pods")
    assert 'pods is forbidden: User "jane" cannot list resource "pods" in API group ""' in refused.stderr
    cluster.kubectl("create", "role", "see", "--verb=list", "--resource=pods", "-n", namespace)
    cluster.kubectl("create", "rolebinding", "see", "--role=see", f"--group={namespace}-dev", "-n", namespace)
    eventually(lambda: cluster.try_kubectl(*as_jane, "get", "pods").returncode == 0)
    assert cluster.try_kubectl(*as_jane, "get", "secrets").returncode != 0


@pytest.mark.parametrize(
    ("decision", "usages", "becomes"),
    [("deny", USAGES, "Denied"), ("approve", ("client auth", "server auth"), "Approved,Failed")],
)
def test_one_that_is_denied_or_that_its_signer_does_not_sign_gets_none(
    cluster: Cluster, namespace: str, decision: str, usages: tuple[str, ...], becomes: str
) -> None:
    name = f"{namespace}-{decision}"
    cluster.kubectl("create", "-f", "-", stdin=signing_request(name, request_pem("jane"), usages=usages))
    try:
        cluster.kubectl("certificate", decision, name)
        eventually(lambda: state(cluster, name) == becomes)
    finally:
        cluster.kubectl("delete", "csr", name)


def test_a_node_that_may_gets_its_client_certificate_without_anybodys_decision(cluster: Cluster, namespace: str) -> None:
    name, maker = f"{namespace}-node", f"{namespace}-bootstrapper"
    resources = "certificatesigningrequests.certificates.k8s.io"
    cluster.kubectl("create", "clusterrole", maker, "--verb=create", f"--resource={resources}")
    cluster.kubectl("create", "clusterrolebinding", maker, f"--clusterrole={maker}", f"--user={maker}")
    body = signing_request(name, request_pem("system:node:n", "system:nodes"), KUBELET)
    try:
        cluster.kubectl("create", "-f", "-", "--as", maker, stdin=body)
        assert state(cluster, name) == "Pending"
        right = f"{resources}/nodeclient"
        cluster.kubectl("create", "clusterrole", f"{maker}-node", "--verb=create", f"--resource={right}")
        cluster.kubectl("create", "clusterrolebinding", f"{maker}-node", f"--clusterrole={maker}-node", f"--user={maker}")
        eventually(lambda: state(cluster, name) == "Approved,Issued", seconds=90)
    finally:
        cluster.kubectl("delete", "csr", name, "--ignore-not-found")
        for kind in ("clusterrolebinding", "clusterrole"):
            cluster.kubectl("delete", kind, maker, f"{maker}-node", "--ignore-not-found")
