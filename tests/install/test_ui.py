"""The page in a cluster: it has no rights of its own, and starts with the arguments that it is installed with."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cluster.api_server import RunningApiServer
from e2e.running_cluster import SHUNTER
from shunter.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, SERVICE_ACCOUNTS
from shunter.cluster.free_ports import free_port
from shunter.install import manifests
from shunter.install.names import UI_SELECTOR
from shunter.install.values import checked
from shunter.kube.client import Client

Json = dict[str, Any]
HOST = {"enabled": True, "host": "shunter.example.com"}
PROXY = {**HOST, "auth": "proxy", "proxy": {"secretName": "front", "groups": ["platform"], "groupsHeader": "x-groups"}}
NAMESPACE = "shunter-system"


def installed(ui: Json, **values: Any) -> dict[str, Json]:
    """The page's objects by kind."""
    found = manifests.files(checked({"ui": ui, **values}), namespace=NAMESPACE)["ui"]
    return {obj["kind"]: obj for obj in found}


def pod(ui: Json) -> Json:
    spec: Json = installed(ui)["Deployment"]["spec"]["template"]["spec"]
    return spec


def test_it_is_off_unless_asked_for() -> None:
    assert installed({}) == {}


def test_with_tokens_its_pods_have_none_and_its_account_has_no_rights() -> None:
    found = installed(HOST)
    assert found.keys() == {"ServiceAccount", "Service", "NetworkPolicy", "Deployment"}
    spec = pod(HOST)
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("shunter-ui", False)
    assert found["ServiceAccount"]["automountServiceAccountToken"] is False
    assert [volume["name"] for volume in spec["volumes"]] == ["scratch", "kube-root-ca"]


def test_behind_a_proxy_users_and_the_named_groups_may_be_impersonated() -> None:
    found = installed(PROXY)
    assert found["ClusterRole"]["rules"] == [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["platform"]},
    ]
    assert pod(PROXY)["automountServiceAccountToken"] is True


def test_without_named_groups_no_group_may_be_impersonated() -> None:
    without = {**PROXY, "proxy": {"secretName": "front"}}
    assert [rule["resources"] for rule in installed(without)["ClusterRole"]["rules"]] == [["users"]]


def test_only_the_page_is_let_in_and_a_viewer_stays_with_a_pod() -> None:
    found = installed(HOST)
    assert found["NetworkPolicy"]["spec"] == {
        "podSelector": {"matchLabels": UI_SELECTOR},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": "page", "protocol": "TCP"}]}],
    }
    assert found["Service"]["spec"]["selector"] == UI_SELECTOR
    assert found["Service"]["spec"]["sessionAffinity"] == "ClientIP"
    assert "NetworkPolicy" not in installed(HOST, networkPolicy={"enabled": False})


def test_it_is_as_confined_as_the_operator() -> None:
    files = manifests.files(checked({"ui": HOST}), namespace=NAMESPACE)
    operator = files["deployment"][0]["spec"]["template"]["spec"]
    assert pod(HOST)["securityContext"] == operator["securityContext"]
    assert pod(HOST)["containers"][0]["securityContext"] == operator["containers"][0]["securityContext"]
    assert pod(HOST)["containers"][0]["image"] == operator["containers"][0]["image"]


def test_settings_become_arguments() -> None:
    ui = {**PROXY, "readOnly": True, "frameAncestors": "https://kubeflow.example.com"}
    arguments = installed(ui, namespaces=["a", "b"])["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments == [
        "ui",
        "serve",
        "--port=8443",
        "--auth=proxy",
        "--url=https://shunter.example.com",
        "--user-header=kubeflow-userid",
        "--groups-header=x-groups",
        "--proxy-secret-file=/etc/shunter/proxy/secret",
        "--frame-ancestors=https://kubeflow.example.com",
        "--namespace=a",
        "--namespace=b",
        "--read-only",
    ]


@contextmanager
def running(ui: Json, replaced: dict[str, str], **environment: str) -> Iterator[str]:
    """The container's command, with what only a pod has replaced; gives its address on this machine."""
    port = free_port()
    arguments = list(pod(ui)["containers"][0]["args"])
    for old, new in {"--port=8443": f"--port={port}", **replaced}.items():
        arguments = [argument.replace(old, new) for argument in arguments]
    process = subprocess.Popen([*SHUNTER, *arguments], env={"PATH": str(Path(sys.executable).parent), **environment})
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.integration
@pytest.mark.parametrize("ui", [HOST, PROXY], ids=["token", "proxy"])
async def test_it_starts_with_its_arguments_and_lets_nobody_in_without_a_name(
    server: RunningApiServer, tmp_path: Path, ui: Json
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123")
    replaced = {
        "https://kubernetes.default.svc": server.url,
        "/etc/kube-root-ca/ca.crt": str(server.ca),
        "/etc/shunter/proxy/secret": str(secret),
    }
    with running(ui, replaced, KUBECONFIG=str(server.kubeconfig)) as address:
        async with aiohttp.ClientSession() as session:
            assert await healthy(session, f"{address}/healthz")
            assert await status(session, f"{address}/api/live?view=jobs") == 401
            named = {"kubeflow-userid": "ann"}
            assert await status(session, f"{address}/api/live?view=jobs", **named) == 401


async def healthy(session: aiohttp.ClientSession, url: str) -> bool:
    async with asyncio.timeout(60):
        while True:
            try:
                return await status(session, url) == 200
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.1)


async def status(session: aiohttp.ClientSession, url: str, **headers: str) -> int:
    async with session.get(url, headers={"Host": "shunter.example.com", **headers}) as answer:
        return answer.status


@pytest.mark.integration
async def test_its_account_may_impersonate_the_named_groups_and_nothing_else(server: RunningApiServer, client: Client) -> None:
    found = installed(PROXY)
    await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    for resource, kind in (
        (SERVICE_ACCOUNTS, "ServiceAccount"),
        (CLUSTER_ROLES, "ClusterRole"),
        (CLUSTER_ROLE_BINDINGS, "ClusterRoleBinding"),
    ):
        await client.create(resource, found[kind], NAMESPACE if resource.namespaced else "")
    token = await account_token(client)
    asked = f"{server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:

        async def code(method: str, url: str, **headers: str) -> int:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"} if method == "POST" else None
            async with session.request(method, url, ssl=server.tls, json=body, headers=headers) as answer:
                return answer.status

        assert await code("POST", asked, **{"Impersonate-User": "ann"}) == 201
        assert await code("POST", asked, **{"Impersonate-User": "ann", "Impersonate-Group": "platform"}) == 201
        assert await code("POST", asked, **{"Impersonate-User": "ann", "Impersonate-Group": "finance"}) == 403
        assert await code("POST", asked, **{"Impersonate-User": "ann", "Impersonate-Group": "system:masters"}) == 403
        assert await code("GET", f"{server.url}/api/v1/pods") == 403


async def account_token(client: Client) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create(SERVICE_ACCOUNTS, request, NAMESPACE, subresource="token", name="shunter-ui")
    return str(answer["status"]["token"])
