"""Tokens of service accounts: for whom, how long, and from which pod."""

from __future__ import annotations

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client
from shunter.api.meta import Json


async def test_a_token_is_good_only_for_whom_it_is_meant(api: Api, api_server: RunningApiServer, namespace: str) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await api.create(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a", "b"]}}
    token = (await api.create(f"{accounts}/s/token", request))["status"]["token"]

    async def reviewed(**spec: object) -> dict[str, object]:
        review = {"spec": {"token": token, **spec}}
        status: dict[str, object] = (await api.create("/apis/authentication.k8s.io/v1/tokenreviews", review))["status"]
        return status

    assert (await reviewed(audiences=["b", "c"]))["audiences"] == ["b"]
    for wrong in ({}, {"audiences": ["c"]}):
        assert "is invalid for the target audiences" in str((await reviewed(**wrong))["error"])
    async with client(api_server, token=token) as stranger:
        assert (await stranger.request("GET", "/api/v1/pods")).code == 401


async def test_service_account_tokens_cannot_be_changed(api: Api, api_server: RunningApiServer, namespace: str) -> None:
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "worker"}})
    answer = await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/worker/token", {"spec": {}})
    head, payload, signature = answer["status"]["token"].split(".")
    forged = ".".join((head, payload[:-4] + "AAAA", signature))
    async with client(api_server, token=forged) as api:
        assert (await api.request("GET", "/apis")).code == 401


async def test_a_token_dies_at_once_with_its_account_and_its_pod(api_server: RunningApiServer, api: Api, namespace: str) -> None:
    root = f"/api/v1/namespaces/{namespace}"
    await api.create(f"{root}/serviceaccounts", {"metadata": {"name": "worker"}})
    spec = {"serviceAccountName": "worker", "containers": [{"name": "c", "image": "i"}]}
    await api.create(f"{root}/pods", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}}
    bodies: list[Json] = [bound, {"spec": {}}]
    tokens = [(await api.create(f"{root}/serviceaccounts/worker/token", body))["status"]["token"] for body in bodies]
    async with client(api_server, token=tokens[0]) as pod, client(api_server, token=tokens[1]) as account:
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [200, 200]
        await api.request("DELETE", f"{root}/pods/p?gracePeriodSeconds=0")
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 200]
        await api.request("DELETE", f"{root}/serviceaccounts/worker")
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 401]
        await api.create(f"{root}/serviceaccounts", {"metadata": {"name": "worker"}})
        assert [(await one.request("GET", "/apis")).code for one in (pod, account)] == [401, 401]
