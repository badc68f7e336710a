"""The webhook server answers reviews as kube-apiserver wants them, whatever the functions behind it do."""

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kube.peer import Peer
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.kube.http.limits import Timeouts
from shunter.kube.tls import serving_tls
from shunter.kube.tls.certificates import issue, new_authority
from shunter.kube.webhooks import server as webhook
from shunter.kube.webhooks.registration import Configuration, Url, Webhook, register
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse, Handler, WebhookServer, allowed, denied, mutated

pytestmark = pytest.mark.integration

AUTHORITY = new_authority("ca")
PAIR = issue(AUTHORITY, "webhooks", ["127.0.0.1"])


async def review(server: WebhookServer, path: str, obj: Any = None, **fields: Any) -> Json:
    request = {
        "uid": "u-1",
        "kind": {"group": "g", "version": "v1", "kind": "Job"},
        "resource": {"group": "g", "version": "v1", "resource": "jobs"},
        "namespace": "n",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["a"], "extra": {"x": ["y"]}},
        "object": obj,
        "oldObject": None,
        "options": {"kind": "CreateOptions"},
        **fields,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    async with post(server, path, json.dumps(body).encode()) as session, session as answer:
        assert answer.status == 200, await answer.text()
        reviewed = await answer.json()
    assert (reviewed["apiVersion"], reviewed["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert reviewed["response"]["uid"] == "u-1"
    response: Json = reviewed["response"]
    return response


class post:  # noqa: N801 -- reads as a verb
    def __init__(self, server: WebhookServer, path: str, body: bytes) -> None:
        self._url = f"https://127.0.0.1:{server.port}{path}"
        self._body = body

    async def __aenter__(self) -> Any:
        context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
        self._session = aiohttp.ClientSession()
        return self._session.post(self._url, data=self._body, ssl=context)

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()


async def late(request: AdmissionRequest) -> AdmissionResponse:
    return denied(f"{request.user_info.username} may not {request.operation}", code=422, warnings=["old"])


def broken(request: AdmissionRequest) -> AdmissionResponse:
    raise KeyError("spec")


def defaulting(request: AdmissionRequest) -> AdmissionResponse:
    assert request.object is not None
    return mutated(request.object, {**request.object, "spec": {"replicas": 1}})


@pytest.fixture
async def server() -> Any:
    routes: dict[str, Handler] = {"/yes": lambda request: allowed(), "/no": late, "/broken": broken, "/default": defaulting}
    server = WebhookServer("127.0.0.1", 0, PAIR, routes)
    await server.start()
    yield server
    await server.stop()


async def test_allowed(server: WebhookServer) -> None:
    assert await review(server, "/yes") == {"uid": "u-1", "allowed": True}


async def test_denied_with_code_message_and_warnings(server: WebhookServer) -> None:
    assert await review(server, "/no") == {
        "uid": "u-1",
        "allowed": False,
        "status": {"status": "Failure", "code": 422, "reason": "Invalid", "message": "alice may not CREATE"},
        "warnings": ["old"],
    }


async def test_a_change_is_a_json_patch(server: WebhookServer) -> None:
    response = await review(server, "/default", {"spec": {}})
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [{"op": "add", "path": "/spec/replicas", "value": 1}]


async def test_no_change_is_no_patch(server: WebhookServer) -> None:
    assert await review(server, "/default", {"spec": {"replicas": 1}}) == {"uid": "u-1", "allowed": True}


async def test_a_bug_of_ours_answers_500_and_is_logged(server: WebhookServer, caplog: pytest.LogCaptureFixture) -> None:
    response = await review(server, "/broken")
    assert response["status"]["code"] == 500
    assert response["status"]["message"] == "KeyError: 'spec'"
    assert "webhook /broken failed for Job n/(generated name)" in caplog.text
    assert "Traceback" in caplog.text


async def test_an_object_larger_than_a_mebibyte_is_read(server: WebhookServer) -> None:
    assert (await review(server, "/yes", {"data": "x" * 3 * 2**20}))["allowed"]


async def test_who_asks_for_a_webhook_that_another_replica_may_have_connects_anew(server: WebhookServer) -> None:
    async with aiohttp.ClientSession() as session:
        for path, closes in (("/yes", False), ("/nowhere", True)):
            url = f"https://127.0.0.1:{server.port}{path}"
            async with session.post(url, data=b"{}", ssl=False) as answer:
                assert (answer.headers.get("Connection") == "close") == closes


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/nowhere", b"{}", 404), ("/yes", b"not json", 400), ("/yes", b"{}", 400), ("/yes", b"x" * (8 * 2**20 + 1), 413)],
    ids=["unknown path", "no JSON", "no review", "too large"],
)
async def test_what_is_no_review_is_refused(server: WebhookServer, path: str, body: bytes, status: int) -> None:
    async with post(server, path, body) as session, session as answer:
        assert answer.status == status


async def test_a_renewed_certificate_is_served_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving_tls, "RELOAD_SECONDS", 0.01)

    def write(name: str) -> None:
        pair = issue(AUTHORITY, name, ["127.0.0.1"])
        (tmp_path / "tls.key").write_bytes(pair.key)
        (tmp_path / "tls.crt").write_bytes(pair.certificate)

    write("one")
    server = WebhookServer("127.0.0.1", 0, tmp_path, {})

    async def served_name() -> str:
        context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
        subject: dict[str, str] = dict(pair[0] for pair in writer.get_extra_info("peercert")["subject"])
        writer.close()
        return subject["commonName"]

    task = asyncio.create_task(server.run())
    await eventually(lambda: not server.why_not_ready())
    assert await served_name() == "one"
    (tmp_path / "tls.key").write_bytes(issue(AUTHORITY, "half", ["127.0.0.1"]).key)
    await eventually(lambda: "cannot be loaded" in caplog.text)
    assert await served_name() == "one"
    write("two")
    async with asyncio.timeout(5):
        while True:
            if await served_name() == "two":
                break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert server.why_not_ready()


async def test_a_missing_certificate_and_a_taken_port_are_said(tmp_path: Path, server: WebhookServer) -> None:
    with pytest.raises(EnvironmentProblem, match=r"must hold tls\.crt and tls\.key"):
        await WebhookServer("127.0.0.1", 0, tmp_path, {}).start()
    with pytest.raises(EnvironmentProblem, match="Choose another --webhook-port"):
        await WebhookServer("127.0.0.1", server.port, PAIR, {}).start()


async def test_registration_writes_url_and_authority(peer: Peer, client: Client) -> None:
    hook = Webhook("validator.trainjob.trainer.kubeflow.org", "/validate", TRAIN_JOBS)
    configuration = Configuration("validating", "validator.trainer.kubeflow.org", [hook])
    await register(client, [configuration], Url("https://127.0.0.1:9443/"), authority=AUTHORITY.certificate)
    (stored,) = peer.objects.values()
    (entry,) = stored["webhooks"]
    assert stored["kind"] == "ValidatingWebhookConfiguration"
    assert entry["clientConfig"]["url"] == "https://127.0.0.1:9443/validate"
    assert base64.b64decode(entry["clientConfig"]["caBundle"]) == AUTHORITY.certificate
    assert entry["rules"] == [
        {
            "apiGroups": ["trainer.kubeflow.org"],
            "apiVersions": ["v1alpha1"],
            "resources": ["trainjobs"],
            "operations": ["CREATE", "UPDATE"],
        }
    ]


async def test_a_connection_on_which_nothing_is_asked_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes memory, and one of the files that the process may open."""
    monkeypatch.setattr(webhook, "TIMEOUTS", Timeouts(head=1.0))
    server = WebhookServer("127.0.0.1", 0, PAIR, {})
    await server.start()
    tls = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    await server.stop()


async def test_a_review_for_nobody_is_refused_before_its_body_is_there() -> None:
    server = WebhookServer("127.0.0.1", 0, PAIR, {})
    await server.start()
    tls = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
        writer.write(b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        writer.transport.abort()
    await server.stop()
