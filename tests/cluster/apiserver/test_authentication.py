"""Who gets in, as whom, and what they may do."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import msgspec
import pytest

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client
from cluster.apiserver.tls_server import issued
from shunter.api.meta import Json

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def whoami(api: Api) -> tuple[str, list[str]]:
    review = await api.create(WHOAMI, {})
    user = review["status"]["userInfo"]
    return user["username"], user["groups"]


async def test_anonymous_requests_are_refused(api_server: RunningApiServer) -> None:
    async with aiohttp.ClientSession(api_server.url, connector=aiohttp.TCPConnector(ssl=api_server.tls)) as session:
        answer = await Api(session).request("GET", "/api/v1/pods")
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_health_and_version_are_open(api_server: RunningApiServer, path: str) -> None:
    async with aiohttp.ClientSession(api_server.url, connector=aiohttp.TCPConnector(ssl=api_server.tls)) as session:
        assert (await Api(session).request("GET", path)).code == 200


async def test_an_unknown_token_is_refused(api_server: RunningApiServer) -> None:
    async with client(api_server, token="nope") as api:
        assert (await api.request("GET", "/api/v1/pods")).code == 401


async def test_a_token_says_who_asks(api: Api) -> None:
    assert await whoami(api) == ("admin", ["system:masters", "system:authenticated"])


async def test_a_token_works_as_long_as_it_is_in_the_file(api_server: RunningApiServer) -> None:
    tokens = msgspec.json.decode(api_server.state.tokens.read_bytes())
    tokens["fresh"] = {"user": "bob", "groups": ["team"]}
    api_server.state.tokens.write_bytes(msgspec.json.encode(tokens))
    async with client(api_server, token="fresh") as api:
        assert await whoami(api) == ("bob", ["team", "system:authenticated"])
        del tokens["fresh"]
        api_server.state.tokens.write_bytes(msgspec.json.encode(tokens))
        assert (await api.request("GET", "/api/v1/pods")).code == 401


async def test_a_client_certificate_of_the_ca_says_who_asks(api_server: RunningApiServer, tmp_path: Path) -> None:
    pair = issued(api_server, "carol", organizations=("system:masters",))
    (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(cafile=str(api_server.ca))
    context.load_cert_chain(tmp_path / "pair.pem")
    async with aiohttp.ClientSession(api_server.url, connector=aiohttp.TCPConnector(ssl=context)) as session:
        api = Api(session)
        assert await whoami(api) == ("carol", ["system:masters", "system:authenticated"])
        assert (await api.request("GET", "/api/v1/pods")).code == 200


async def test_who_is_no_admin_may_only_look_around(api_server: RunningApiServer, api: Api, namespace: str) -> None:
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "worker"}})
    answer = await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/worker/token", {"spec": {}})
    async with client(api_server, token=answer["status"]["token"]) as worker:
        name, groups = await whoami(worker)
        refused = await worker.request("GET", f"/api/v1/namespaces/{namespace}/pods/p")
        assert (await worker.request("GET", "/apis")).code == 200
    assert name == f"system:serviceaccount:{namespace}:worker"
    assert groups == ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    assert refused.code == 403
    assert refused.body["message"] == (
        f'pods "p" is forbidden: User "system:serviceaccount:{namespace}:worker" cannot get resource "pods" '
        f'in API group "" in the namespace "{namespace}"'
    )


async def test_a_role_for_one_name_or_for_a_namespace_holds_as_on_a_real_server(
    api_server: RunningApiServer, api: Api, namespace: str
) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await api.create(accounts, {"metadata": {"name": "worker"}})
    rules = [
        {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]},
    ]
    await api.create(f"{roles}/roles", {"metadata": {"name": "r"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "ServiceAccount", "name": "worker", "namespace": namespace}
    await api.create(f"{roles}/rolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]})
    token = (await api.create(f"{accounts}/worker/token", {"spec": {}}))["status"]["token"]
    config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
    paths = {
        f"{config_maps}?fieldSelector=metadata.name=one": 200,
        f"{config_maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=one": 200,
        f"{config_maps}?fieldSelector=metadata.name=two": 403,
        f"{config_maps}?fieldSelector=metadata.name!=one": 403,
        config_maps: 403,
        f"/api/v1/namespaces/{namespace}": 200,
        "/api/v1/namespaces/default": 403,
        f"/api/v1/namespaces?fieldSelector=metadata.name={namespace}": 403,
    }
    async with client(api_server, token=token) as worker:
        assert {path: (await worker.request("GET", path)).code for path in paths} == paths


async def test_token_review_knows_good_and_bad_tokens(api: Api, api_server: RunningApiServer) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    good = await api.create(path, {"spec": {"token": api_server.token}})
    bad = await api.create(path, {"spec": {"token": "a.b.c"}})
    assert good["status"]["authenticated"] is True
    assert good["status"]["user"]["username"] == "admin"
    assert "authenticated" not in bad["status"]


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


async def test_access_reviews_answer_for_oneself_and_for_others(api: Api) -> None:
    asked = {"resourceAttributes": {"verb": "create", "resource": "pods"}}
    root = "/apis/authorization.k8s.io/v1"
    mine = await api.create(f"{root}/selfsubjectaccessreviews", {"spec": asked})
    theirs = await api.create(f"{root}/subjectaccessreviews", {"spec": {**asked, "user": "bob"}})
    masters = await api.create(f"{root}/subjectaccessreviews", {"spec": {**asked, "groups": ["system:masters"]}})
    assert [review["status"]["allowed"] for review in (mine, theirs, masters)] == [True, False, True]
