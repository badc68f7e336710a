"""Admission webhooks over HTTPS: who is asked, what an answer does, and what the client reads."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Answer, Api
from cluster.apiserver.tls_server import serving

Json = dict[str, Any]
Respond = Callable[[Json], Json]

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def allowed(request: Json) -> Json:
    return {"allowed": True}


def patched(*operations: Json) -> Respond:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch}


class Hook:
    """One registered webhook and the reviews it got."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.queries: list[str] = []


@asynccontextmanager
async def webhook(
    api: Api,
    server: RunningApiServer,
    tmp_path: Path,
    namespace: str,
    respond: Respond,
    *,
    kind: str = "Validating",
    url: str = "",
    rule: Json | None = None,
    **fields: Any,
) -> AsyncIterator[Hook]:
    hook = Hook()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        review = json.loads(await request.read())
        hook.requests.append(review["request"])
        hook.queries.append(request.query_string)
        response = {"uid": review["request"]["uid"], **respond(review["request"])}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    async with serving(server, answer, tmp_path) as port:
        plural = f"{kind.lower()}webhookconfigurations"
        default_rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
        definition = {
            "name": "hook.example.com",
            "clientConfig": {
                "url": url or f"https://127.0.0.1:{port}/check",
                "caBundle": base64.b64encode(server.ca.read_bytes()).decode(),
            },
            "rules": [{**default_rule, **(rule or {})}],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            **fields,
        }
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"hook-{namespace}"},
            "webhooks": [definition],
        }
        await api.create(f"{CONFIGURATIONS}/{plural}", body)
        try:
            yield hook
        finally:
            answer_ = await api.request("DELETE", f"{CONFIGURATIONS}/{plural}/hook-{namespace}")
            assert answer_.code == 200


async def test_a_refusal_is_worded_as_kube_apiserver_does(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    def refuse(request: Json) -> Json:
        status = {"code": 403, "reason": "Forbidden", "message": "no such luck"}
        return {"allowed": False, "status": status, "warnings": ["careful"]}

    async with webhook(api, api_server, tmp_path, namespace, refuse) as hook:
        answer = await api.request("POST", config_maps, {"metadata": {"name": "a"}})
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["message"] == 'admission webhook "hook.example.com" denied the request: no such luck'
    assert answer.warnings == ['299 - "careful"']
    request = hook.requests[0]
    assert request["operation"] == "CREATE"
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["name"], request["namespace"]) == ("a", namespace)
    assert request["userInfo"]["username"] == "admin"
    assert request["object"]["metadata"]["name"] == "a"
    assert request["oldObject"] is None


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        pytest.param({}, 400, " without explanation", id="nothing said"),
        pytest.param({"message": "why"}, 400, ": why", id="message only"),
        pytest.param({"reason": "Invalid", "code": 422}, 422, ": Invalid", id="reason only"),
        pytest.param({"message": "ok?", "code": 200}, 400, ": ok?", id="a code that is no error"),
    ],
)
async def test_sparse_refusals(
    api: Api,
    api_server: RunningApiServer,
    tmp_path: Path,
    namespace: str,
    config_maps: str,
    status: Json,
    code: int,
    message: str,
) -> None:
    async with webhook(api, api_server, tmp_path, namespace, lambda r: {"allowed": False, "status": status}):
        answer = await api.request("POST", config_maps, {"metadata": {"name": "a"}})
    assert answer.code == code
    assert answer.body["message"] == f'admission webhook "hook.example.com" denied the request{message}'


async def test_a_mutating_webhook_changes_what_is_stored(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    respond = patched({"op": "add", "path": "/data", "value": {"set": "by webhook"}})
    async with webhook(api, api_server, tmp_path, namespace, respond, kind="Mutating"):
        created = await api.create(config_maps, {"metadata": {"name": "a"}})
    assert created["data"] == {"set": "by webhook"}
    assert await api.get(f"{config_maps}/a") == created


async def test_all_who_apply_a_new_object_at_once_succeed(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    def applying(n: int) -> Awaitable[Answer]:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {f"k{n}": "x"}}
        return api.request("PATCH", f"{config_maps}/a?fieldManager=m{n}", body, "application/apply-patch+yaml")

    async with webhook(api, api_server, tmp_path, namespace, allowed):
        answers = await asyncio.gather(*map(applying, range(4)))
    assert sorted(answer.code for answer in answers) == [200, 200, 200, 201]
    assert (await api.get(f"{config_maps}/a"))["data"] == dict.fromkeys(["k0", "k1", "k2", "k3"], "x")


async def test_update_and_delete_show_the_old_object(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    async with webhook(api, api_server, tmp_path, namespace, allowed) as hook:
        await api.merge(f"{config_maps}/a", {"data": {"x": "2"}})
        await api.request("DELETE", f"{config_maps}/a")
    update, delete = hook.requests
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"x": "1"}, {"x": "2"})
    assert (delete["operation"], delete["object"], delete["oldObject"]["data"]) == ("DELETE", None, {"x": "2"})


@pytest.mark.parametrize(
    ("fields", "rule", "asked"),
    [
        pytest.param({}, {"operations": ["UPDATE"]}, False, id="other operation"),
        pytest.param({}, {"resources": ["secrets"]}, False, id="other resource"),
        pytest.param({}, {"resources": ["*"]}, True, id="every resource"),
        pytest.param({}, {"resources": ["configmaps/status"]}, False, id="subresource only"),
        pytest.param({}, {"scope": "Cluster"}, False, id="other scope"),
        pytest.param({}, {"scope": "Namespaced"}, True, id="right scope"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, {}, True, id="labels match"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "c"}}}, {}, False, id="labels do not match"),
        pytest.param({"namespaceSelector": {"matchLabels": {"no": "such"}}}, {}, False, id="other namespace"),
        pytest.param(
            {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, {}, False, id="expression"
        ),
    ],
)
async def test_a_webhook_is_asked_about_what_its_rules_and_selectors_name(
    api: Api,
    api_server: RunningApiServer,
    tmp_path: Path,
    namespace: str,
    config_maps: str,
    fields: Json,
    rule: Json,
    asked: bool,
) -> None:
    async with webhook(api, api_server, tmp_path, namespace, allowed, rule=rule, **fields) as hook:
        await api.create(config_maps, {"metadata": {"name": "a", "labels": {"a": "b"}}})
    assert bool(hook.requests) is asked


async def test_a_webhook_that_cannot_be_reached_fails_the_write_or_is_ignored(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    nowhere = "https://127.0.0.1:1/check"
    async with webhook(api, api_server, tmp_path, namespace, allowed, url=nowhere):
        answer = await api.request("POST", config_maps, {"metadata": {"name": "a"}})
    assert (answer.code, answer.body["reason"]) == (500, "InternalError")
    start = 'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://127.0.0.1:1/check'
    assert answer.body["message"].startswith(start)
    async with webhook(api, api_server, tmp_path, namespace, allowed, url=nowhere, failurePolicy="Ignore"):
        await api.create(config_maps, {"metadata": {"name": "a"}})


async def test_an_answer_to_another_question_is_no_answer(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    async with webhook(api, api_server, tmp_path, namespace, lambda r: {"allowed": True, "uid": "other"}):
        answer = await api.request("POST", config_maps, {"metadata": {"name": "a"}})
    assert answer.code == 500
    assert 'received invalid webhook response: expected response.uid="' in answer.body["message"]


async def test_a_slow_webhook_times_out_after_its_own_seconds(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    def slow(request: Json) -> Json:
        time.sleep(1.5)
        return {"allowed": True}

    async with webhook(api, api_server, tmp_path, namespace, slow, timeoutSeconds=1) as hook:
        answer = await api.request("POST", config_maps, {"metadata": {"name": "a"}})
    assert answer.code == 500
    assert "context deadline exceeded" in answer.body["message"]
    assert hook.queries == ["timeout=1s"]


async def test_a_dry_run_says_so_and_stores_nothing(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    async with webhook(api, api_server, tmp_path, namespace, allowed) as hook:
        await api.create(f"{config_maps}?dryRun=All", {"metadata": {"name": "a"}})
    assert [request["dryRun"] for request in hook.requests] == [True]
    assert (await api.request("GET", f"{config_maps}/a")).code == 404


async def test_a_webhook_behind_a_service_is_found_through_its_endpoints(
    api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str, config_maps: str
) -> None:
    async with webhook(api, api_server, tmp_path, namespace, allowed) as hook:
        configuration = f"{CONFIGURATIONS}/validatingwebhookconfigurations/hook-{namespace}"
        stored = await api.get(configuration)
        client = stored["webhooks"][0]["clientConfig"]
        port = int(client.pop("url").split(":")[2].split("/")[0])
        client["service"] = {"namespace": "hooks", "name": "webhook", "path": "/check", "port": 443}
        await api.create("/api/v1/namespaces", {"metadata": {"name": "hooks"}})
        services = "/api/v1/namespaces/hooks/services"
        await api.create(services, {"metadata": {"name": "webhook"}, "spec": {"ports": [{"name": "https", "port": 443}]}})
        endpoints = {
            "metadata": {"name": "webhook-1", "labels": {"kubernetes.io/service-name": "webhook"}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        }
        await api.create("/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices", endpoints)
        answer = await api.request("PUT", configuration, stored)
        assert answer.code == 200, answer.body
        await api.create(config_maps, {"metadata": {"name": "a"}})
    assert len(hook.requests) == 1
