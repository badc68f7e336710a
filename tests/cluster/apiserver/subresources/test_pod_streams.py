"""exec, attach and port-forward: checked as kube-apiserver checks them, then passed on to the pod's node byte by byte.

The refusals were seen in answers of a real kube-apiserver 1.36.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api
from cluster.apiserver.tls_server import serving
from shunter.kube.http.connection_streams import connection_streams

SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
CONTAINER = {"name": "c", "image": "x"}


class TakenOver(web.StreamResponse):
    """What an aiohttp handler returns for a connection that it took over and is done with: nothing more is sent."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        self.force_close()

    @property
    def keep_alive(self) -> bool:
        return False


def taken_over(request: web.BaseRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The connection of an aiohttp request: aiohttp itself upgrades to WebSocket only."""
    assert request.transport is not None
    return connection_streams(request.transport, b"")


class FakeNode:
    """A node that echoes what comes over an upgraded connection, and a pod on it."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.asked: list[web.BaseRequest] = []
        self.refusal: web.Response | None = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request)
        if self.refusal is not None:
            return self.refusal
        if request.headers.get("Upgrade", "").lower() == "websocket":
            socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",), max_msg_size=2**24)
            await socket.prepare(request)
            async for message in socket:
                await socket.send_bytes(message.data)
            return socket
        reader, writer = taken_over(request)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        return TakenOver()

    async def register(self, port: int) -> None:
        """Makes the node known, with pods `one` and `two` (three containers) on it, and `unbound` on none."""
        name = f"node-{self.namespace}"
        await self.api.create("/api/v1/nodes", {"metadata": {"name": name}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await self.api.merge(f"/api/v1/nodes/{name}/status", {"status": status})
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        specs: dict[str, Any] = {
            "one": {"containers": [CONTAINER], "nodeName": name},
            "two": {
                "containers": [CONTAINER, {"name": "d", "image": "x"}],
                "initContainers": [{"name": "i", "image": "x"}],
                "nodeName": name,
            },
            "unbound": {"containers": [CONTAINER]},
        }
        for pod, spec in specs.items():
            await self.api.create(pods, {"metadata": {"name": pod}, "spec": spec})

    @asynccontextmanager
    async def connection(self, path: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A SPDY upgrade as far as the node's answer, which is read."""
        url = self.api.session._base_url
        assert url is not None
        connector = self.api.session.connector
        assert isinstance(connector, aiohttp.TCPConnector)
        reader, writer = await asyncio.open_connection(url.host, url.port, ssl=connector._ssl, limit=2**24)
        headers = {"Host": url.host, "Authorization": self.api.session.headers["Authorization"], **SPDY}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"POST /api/v1/namespaces/{self.namespace}/{path} HTTP/1.1\r\n{lines}\r\n".encode())
        try:
            yield reader, writer
        finally:
            writer.close()


@pytest.fixture
async def node(api: Api, api_server: RunningApiServer, tmp_path: Path, namespace: str) -> AsyncIterator[FakeNode]:
    fake = FakeNode(api, namespace)
    async with serving(api_server, fake.handle, tmp_path, client_certificates=True) as port:
        await fake.register(port)
        yield fake


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        pytest.param("POST", "none/exec?command=x&stdout=1", 404, 'pods "none" not found', id="no such pod"),
        pytest.param("POST", "none/portforward", 404, 'pods "none" not found', id="no such pod to forward to"),
        pytest.param(
            "POST",
            "two/exec?command=x&stdout=1",
            400,
            "a container name must be specified for pod two, choose one of: [i c d]",
            id="several containers and none named",
        ),
        pytest.param(
            "GET", "two/attach?stdout=1&container=z", 400, "container z is not valid for pod two", id="no such container"
        ),
        pytest.param("POST", "unbound/exec?stdout=1", 400, "pod unbound does not have a host assigned", id="pod on no node"),
        pytest.param("POST", "unbound/portforward", 400, "pod unbound does not have a host assigned", id="no node to forward to"),
    ],
)
async def test_a_request_that_leads_nowhere_is_refused(node: FakeNode, method: str, path: str, code: int, message: str) -> None:
    answer = await node.api.request(method, f"/api/v1/namespaces/{node.namespace}/pods/{path}", **SPDY)
    assert (answer.code, answer.body["message"]) == (code, message)
    assert not node.asked


async def test_a_request_without_an_upgrade_or_with_another_method_is_refused(node: FakeNode) -> None:
    path = f"/api/v1/namespaces/{node.namespace}/pods/one/exec?command=x&stdout=1"
    for method in ("GET", "POST"):
        answer = await node.api.request(method, path)
        assert (answer.code, answer.body["message"]) == (400, "Upgrade request required")
    for method in ("PUT", "DELETE"):
        answer = await node.api.request(method, path, **SPDY)
        assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        pytest.param(
            "one/exec?command=sh&command=-c&command=a%26b%20c&stdin=true&stdout=true&stderr=0&tty=false",
            "/exec/{}/one/c?input=1&output=1&command=sh&command=-c&command=a%26b+c",
            id="exec",
        ),
        pytest.param("two/attach?container=d&stdout=1&stderr=1&tty=1", "/attach/{}/two/d?output=1&error=1&tty=1", id="attach"),
        pytest.param("one/portforward", "/portForward/{}/one?", id="port-forward"),
        pytest.param("one/portforward?ports=80,81&ports=82", "/portForward/{}/one?port=80%2C81%2C82", id="port-forward of ports"),
    ],
)
async def test_the_node_is_asked_in_kubelets_words(node: FakeNode, path: str, asked: str) -> None:
    async with node.connection(f"pods/{path}") as (reader, _):
        head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert node.asked[0].raw_path.rstrip("?") == asked.format(node.namespace).rstrip("?")
    assert node.asked[0].headers["X-Stream-Protocol-Version"] == "v4.channel.k8s.io"
    assert "Authorization" not in node.asked[0].headers, "the client's token is none of the node's business"


async def test_bytes_go_both_ways_unchanged(node: FakeNode) -> None:
    sent = os.urandom(5_000_000)
    async with node.connection("pods/one/portforward") as (reader, writer):
        await reader.readuntil(b"\r\n\r\n")

        async def write() -> None:
            writer.write(sent)
            await writer.drain()

        writing = asyncio.create_task(write())
        async with asyncio.timeout(30):
            assert await reader.readexactly(len(sent)) == sent
        await writing


async def test_a_websocket_is_passed_through(node: FakeNode) -> None:
    path = f"/api/v1/namespaces/{node.namespace}/pods/one/exec?command=cat&stdin=1&stdout=1"
    async with node.api.session.ws_connect(path, protocols=("v5.channel.k8s.io",), max_msg_size=2**24) as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        message = os.urandom(3_000_000)
        await socket.send_bytes(message)
        assert await socket.receive_bytes(timeout=30) == message
    assert node.asked[0].method == "GET"


async def test_a_client_that_does_not_read_is_not_buffered_for(node: FakeNode) -> None:
    async with node.connection("pods/one/portforward") as (reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        written = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                # The echo comes back to a reader that stops at its limit; sooner or later everybody waits for everybody.
                while written < 400_000_000:
                    writer.write(bytes(1_000_000))
                    written += 1_000_000
                    await writer.drain()
        assert written < 400_000_000


async def test_the_end_of_one_side_is_the_end_of_the_other(node: FakeNode) -> None:
    async with node.connection("pods/one/portforward") as (reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write_eof() if writer.can_write_eof() else writer.close()
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                assert await reader.read() == b""


async def test_a_refusal_of_the_node_reaches_the_client_as_it_is(node: FakeNode) -> None:
    node.refusal = web.Response(status=500, text='container not found ("c")\n')
    path = f"/api/v1/namespaces/{node.namespace}/pods/one/exec?command=x&stdout=1"
    answer = await node.api.request("POST", path, **SPDY)
    assert (answer.code, answer.body) == (500, 'container not found ("c")\n')


async def test_a_node_that_is_away_is_named(node: FakeNode) -> None:
    status = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}
    await node.api.merge(f"/api/v1/nodes/node-{node.namespace}/status", {"status": status})
    answer = await node.api.request("POST", f"/api/v1/namespaces/{node.namespace}/pods/one/portforward", **SPDY)
    message = "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"
    assert (answer.code, answer.body["message"]) == (500, message)


async def test_a_node_whose_headers_do_not_end_is_named(node: FakeNode) -> None:
    node.refusal = web.Response(status=403, headers={"X-Long": "x" * 300_000})
    path = f"/api/v1/namespaces/{node.namespace}/pods/one/exec?command=x&stdout=1"
    answer = await node.api.request("POST", path, **SPDY)
    assert answer.code == 500
    assert answer.body["message"].startswith("error dialing backend: dial tcp 127.0.0.1:")
    assert "no answer" in answer.body["message"]
