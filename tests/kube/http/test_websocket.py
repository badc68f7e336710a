"""WebSockets against aiohttp's, which is the peer here: our server its client's, our client its server's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from kube.aiohttp_server import Handler, aiohttp_server
from shunter.kube.errors import ApiError, ConnectionProblem, Forbidden
from shunter.kube.http import websocket
from shunter.kube.http.connection_streams import connection_streams
from shunter.kube.http.limits import Limits
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer
from shunter.kube.http.websocket import WebSocket, WebSocketHandshake, acceptance
from shunter.kube.transport import HttpTransport

pytestmark = pytest.mark.integration

PROTOCOL = "v5.channel.k8s.io"
DEADLINE = 20.0
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}


async def echo(socket: WebSocket) -> None:
    while message := await socket.receive():
        await socket.send(message)
    await socket.close()


@asynccontextmanager
async def served(conversation: Callable[[WebSocket], Awaitable[None]]) -> AsyncIterator[int]:
    """Our server; yields its port."""

    async def handle(request: Request) -> Response | None:
        try:
            answer = acceptance(request.headers, PROTOCOL)
        except ValueError as error:
            return Response(str(error).encode(), status=400)
        reader, writer = connection_streams(*request.take_over())
        writer.write(answer)
        await conversation(WebSocket(reader, writer, protocol=PROTOCOL))
        return None

    server = HttpServer(handle, Limits(body=1024))
    try:
        async with asyncio.timeout(DEADLINE):
            yield await server.start("127.0.0.1", 0)
    finally:
        await server.stop(1.0)


@asynccontextmanager
async def client_of(port: int) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    url = f"http://127.0.0.1:{port}/"
    async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=(PROTOCOL,), max_msg_size=0) as socket:
        yield socket


@pytest.mark.parametrize("length", [1, 125, 126, 65535, 65536, 3_000_000])
async def test_messages_of_every_length_come_and_go_unchanged(length: int) -> None:
    message = os.urandom(length)
    async with served(echo) as port, client_of(port) as socket:
        assert socket.protocol == PROTOCOL
        await socket.send_bytes(message)
        assert await socket.receive_bytes() == message


async def test_text_is_utf_8_and_empty_messages_are_passed_over() -> None:
    async with served(echo) as port, client_of(port) as socket:
        await socket.send_bytes(b"")
        await socket.send_str("gr\u00fcn")
        assert await socket.receive_bytes() == "gr\u00fcn".encode()


async def test_message_in_fragments_with_a_ping_between_is_one() -> None:
    async with served(echo) as port, client_of(port) as socket:
        await socket.send_bytes(b"a")
        # aiohttp sends whole messages only: these are frames by hand, masked with zeros.
        assert socket._conn is not None
        transport = socket._conn.transport
        assert transport is not None
        transport.write(b"\x02\x82\0\0\0\0bc" + b"\x89\x81\0\0\0\0p" + b"\x80\x81\0\0\0\0d")
        assert await socket.receive_bytes() == b"a"
        assert await socket.receive_bytes() == b"bcd"


async def test_unmasked_frame_of_a_client_ends_the_websocket() -> None:
    async with served(echo) as port, client_of(port) as socket:
        assert socket._conn is not None
        transport = socket._conn.transport
        assert transport is not None
        transport.write(b"\x82\x01a")
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == aiohttp.WSCloseCode.PROTOCOL_ERROR


async def test_message_beyond_the_limit_is_refused_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MAX_MESSAGE_BYTES", 1000)
    received: list[bytes] = []

    async def keep(socket: WebSocket) -> None:
        while message := await socket.receive():
            received.append(message)
        await socket.close()

    async with served(keep) as port, client_of(port) as socket:
        await socket.send_bytes(bytes(1000))
        await socket.send_bytes(bytes(1001))
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
    assert received == [bytes(1000)]


async def test_close_arrives_after_what_was_sent_and_is_answered() -> None:
    async def talk(socket: WebSocket) -> None:
        await socket.send(b"last words")
        await socket.close()

    async with served(talk) as port, client_of(port) as socket:
        assert await socket.receive_bytes() == b"last words"
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == aiohttp.WSCloseCode.OK


async def test_nobody_waits_for_a_peer_that_does_not_answer_a_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "CLOSE_SECONDS", 0.2)
    closed = asyncio.Event()

    async def talk(socket: WebSocket) -> None:
        await socket.close()
        closed.set()

    async with served(talk) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        invitation = WebSocketHandshake(PROTOCOL)
        lines = "".join(f"{name}: {value}\r\n" for name, value in invitation.headers.items())
        writer.write(f"GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n".encode())
        await closed.wait()
        assert (await reader.read()).endswith(b"\x88\x02\x03\xe8"), "a close frame of code 1000, then the end"
        writer.close()


async def test_sending_to_a_peer_that_is_gone_is_a_connection_error() -> None:
    trouble: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def talk(socket: WebSocket) -> None:
        assert await socket.receive() == b""
        try:
            await socket.send(b"x")
        except ConnectionError:
            trouble.set_result(True)

    async with served(talk) as port:
        async with client_of(port):
            pass
        assert await trouble


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(UPGRADE | {"Sec-WebSocket-Version": "13"}, id="no key"),
        pytest.param(UPGRADE | {"Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "8"}, id="another version"),
    ],
)
async def test_request_that_is_none_for_a_websocket_is_answered_400(headers: dict[str, str]) -> None:
    async with (
        served(echo) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/", headers=headers) as answer,
    ):
        assert answer.status == 400


@asynccontextmanager
async def transport_to(handler: Handler) -> AsyncIterator[HttpTransport]:
    """Our client of a server of aiohttp."""
    async with aiohttp_server(handler) as connection:
        transport = HttpTransport(connection)
        try:
            async with asyncio.timeout(DEADLINE):
                yield transport
        finally:
            await transport.close()


async def test_client_speaks_with_another_server_after_the_upgrade() -> None:
    asked: list[str] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.raw_path)
        socket = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
        await socket.prepare(request)
        await socket.send_bytes(b"first, perhaps together with the head")
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    message = os.urandom(1_000_000)
    async with transport_to(handle) as transport:
        invitation = WebSocketHandshake(PROTOCOL)
        upgraded = await transport.upgrade("/exec", [("command", "a b"), ("command", "c")], invitation.headers)
        socket = invitation.accepted(upgraded)
        assert await socket.receive() == b"first, perhaps together with the head"
        await socket.send(message)
        assert await socket.receive() == message
        await socket.close()
    assert asked == ["/prefix/exec?command=a+b&command=c"]


async def test_refusal_of_an_upgrade_is_an_error_with_the_servers_words() -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        status = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no exec for you"}
        return web.json_response(status, status=403)

    async with transport_to(handle) as transport:
        with pytest.raises(Forbidden, match="no exec for you"):
            await transport.upgrade("/exec", [], WebSocketHandshake(PROTOCOL).headers)


async def test_answer_that_is_no_upgrade_is_an_error() -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="hello")

    async with transport_to(handle) as transport:
        with pytest.raises(ApiError, match="hello"):
            await transport.upgrade("/exec", [], WebSocketHandshake(PROTOCOL).headers)


async def test_server_that_agrees_to_something_else_is_not_believed() -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("another",))
        await socket.prepare(request)
        await socket.close()
        return socket

    async with transport_to(handle) as transport:
        invitation = WebSocketHandshake(PROTOCOL)
        upgraded = await transport.upgrade("/exec", [], invitation.headers)
        with pytest.raises(ConnectionError, match="did not agree"):
            invitation.accepted(upgraded)


async def test_server_that_hangs_up_before_its_answer_is_a_problem_of_the_connection() -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with transport_to(handle) as transport:
        with pytest.raises(ConnectionProblem):
            await transport.upgrade("/exec", [], WebSocketHandshake(PROTOCOL).headers)
