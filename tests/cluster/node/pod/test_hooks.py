"""Handlers of probes and hooks, carried out."""

from __future__ import annotations

import asyncio
import errno
import socket
from pathlib import Path

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.pod.hooks import run_hook
from shunter.cluster.node.runtime.launcher import Launcher


async def test_a_handler_that_is_not_supported_is_named() -> None:
    probe = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, "newer": {"port": 1}}
    complaint = await run_hook(Launcher(Path("log")), Path("attempt"), {"name": "c"}, probe, address="127.0.0.1", timeout=1.0)
    assert complaint == "handler newer is not supported by this node"


@pytest.mark.parametrize(
    ("handler", "complaint"),
    [
        ({"httpGet": {"port": 80, "host": "::1"}}, 'Get "http://[::1]:80/": dial tcp [::1]:80: connect: connection refused'),
        ({"tcpSocket": {"port": 80, "host": "::1"}}, "dial tcp [::1]:80: connect: connection refused"),
    ],
    ids=["http", "tcp"],
)
async def test_an_address_of_ipv6_stands_in_brackets(handler: Json, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> socket.socket:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "")

    monkeypatch.setattr(Launcher, "connect", refuse)
    told = await run_hook(Launcher(Path("log")), Path("attempt"), {"name": "c"}, handler, address="127.0.0.1", timeout=1.0)
    assert told == complaint


@pytest.mark.integration
@pytest.mark.parametrize(
    ("handler", "complaint"),
    [
        ({"tcpSocket": {"port": "PORT"}}, "dial tcp 127.0.0.1:PORT: connect: connection refused"),
        (
            {"httpGet": {"port": "PORT", "path": "/a"}},
            'Get "http://127.0.0.1:PORT/a": dial tcp 127.0.0.1:PORT: connect: connection refused',
        ),
        (
            {"grpc": {"port": "PORT"}},
            'error: failed to connect service at "127.0.0.1:PORT": dial tcp 127.0.0.1:PORT: connect: connection refused',
        ),
        ({"tcpSocket": {"port": "web"}}, "couldn't find port: web"),
    ],
    ids=["tcp", "http", "grpc", "unknown port"],
)
async def test_a_port_that_nobody_serves_is_told_as_kubelet_does(handler: Json, complaint: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        (target,) = handler.values()
        given = {**target, "port": port if target["port"] == "PORT" else target["port"]}
        told = await run_hook(
            Launcher(Path("log")), Path("attempt"), {"name": "c"}, dict.fromkeys(handler, given), address="127.0.0.1", timeout=5.0
        )
    assert told == complaint.replace("PORT", str(port))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"", "EOF"),
        (b"hello\r\n", "malformed HTTP response"),
        (None, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    ],
    ids=["none", "no HTTP", "too late"],
)
async def test_an_answer_that_is_none_is_told_as_kubelet_does(answer: bytes | None, complaint: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is None:
            await reader.read()
        writer.write(answer or b"")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        handler = {"httpGet": {"port": port}}
        timeout = 0.2 if answer is None else 5.0
        told = await run_hook(
            Launcher(Path("log")), Path("attempt"), {"name": "c"}, handler, address="127.0.0.1", timeout=timeout
        )
    assert told == f'Get "http://127.0.0.1:{port}/": {complaint}'


@pytest.mark.integration
async def test_a_server_without_tls_is_told_as_kubelet_does() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        handler = {"httpGet": {"port": port, "scheme": "HTTPS"}}
        told = await run_hook(Launcher(Path("log")), Path("attempt"), {"name": "c"}, handler, address="127.0.0.1", timeout=5.0)
    assert told == f'Get "https://127.0.0.1:{port}/": http: server gave HTTP response to HTTPS client'
