"""The API server on the wire: what it takes from people before it knows them."""

from __future__ import annotations

import asyncio
import json

import pytest

from cluster.api_server import RunningApiServer

DEADLINE = 20.0
PODS = "/api/v1/namespaces/default/pods"


async def answered(server: RunningApiServer, sent: bytes) -> tuple[int, bytes]:
    """Code and body of the answer to these bytes. The client sends no more, and does not hang up before it is answered."""
    port = int(server.url.rpartition(":")[2])
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=server.tls)
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        body = b"" if sent.startswith(b"HEAD ") else await reader.readexactly(length)
        writer.transport.abort()
    return int(head.split(b" ")[1]), body


def head(method: str, target: str, *lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", "Host: a", *lines, "")).encode()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("Content-Length: 3000000",), id="half a body"),
        pytest.param(("Content-Length: 3000000", "Expect: 100-continue"), id="who waits for leave"),
        pytest.param(("Transfer-Encoding: chunked",), id="chunks"),
        pytest.param(("Content-Length: 3000000", "Authorization: Bearer nobody"), id="a token of nobody"),
    ],
)
async def test_nobody_is_refused_before_the_body_is_there(api_server: RunningApiServer, lines: tuple[str, ...]) -> None:
    code, body = await answered(api_server, head("POST", PODS, *lines))
    assert (code, json.loads(body)["reason"]) == (401, "Unauthorized")


async def test_health_needs_no_body(api_server: RunningApiServer) -> None:
    assert await answered(api_server, head("POST", "/readyz", "Content-Length: 3000000")) == (200, b"ok")


async def test_somebody_may_send_a_body_in_parts(api_server: RunningApiServer) -> None:
    lines = (f"Authorization: Bearer {api_server.token}", "Content-Type: application/json", "Content-Length: 20")
    code, _ = await answered(api_server, head("POST", PODS, *lines, "Expect: 100-continue"))
    assert code == 100


async def test_a_token_after_the_body_is_none(api_server: RunningApiServer) -> None:
    chunks = f"2\r\n{{}}\r\n0\r\nAuthorization: Bearer {api_server.token}\r\n\r\n".encode()
    code, _ = await answered(api_server, head("POST", PODS, "Transfer-Encoding: chunked") + chunks)
    assert code == 401


@pytest.mark.parametrize("method", ["FROB", "OPTIONS", "TRACE", "HEAD", "get"])
@pytest.mark.parametrize("target", [PODS, f"{PODS}/x", "/", "//", "/%00", "/%FF", "/api/v1/../v1", "http://x/api", "/apis/%2F"])
async def test_no_method_or_target_is_a_bug(api_server: RunningApiServer, method: str, target: str) -> None:
    code, _ = await answered(api_server, head(method, target, f"Authorization: Bearer {api_server.token}"))
    assert code < 500


async def test_the_server_itself_is_no_path(api_server: RunningApiServer) -> None:
    code, _ = await answered(api_server, head("OPTIONS", "*", f"Authorization: Bearer {api_server.token}"))
    assert code < 500
