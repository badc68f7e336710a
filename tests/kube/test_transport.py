"""The real transport: identity, refreshed when the server refuses it, and streams that end as they should."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from shunter.kube import client as client_module
from shunter.kube import transport as transport_module
from shunter.kube.client import Client
from shunter.kube.credentials import ClientCertificate, Headers, TokenFile, bearer
from shunter.kube.errors import ConnectionProblem, Forbidden, Unauthorized
from shunter.kube.kubeconfig import Connection
from shunter.kube.transport import HttpTransport

pytestmark = pytest.mark.integration


class Rotating:
    """Credentials that know a newer token when asked."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = [*tokens]

    async def headers(self) -> Headers:
        return bearer(self.tokens[0])

    async def certificate(self) -> ClientCertificate | None:
        return None

    async def refresh(self) -> bool:
        self.tokens.pop(0) if len(self.tokens) > 1 else None
        return True


@pytest.fixture
async def url() -> Any:
    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != "Bearer good":
            return web.Response(status=401, text="who are you")
        match request.path:
            case "/redirect":
                return web.Response(status=302, headers={"Location": "/echo"})
            case "/refused":
                return web.Response(status=403, text="no")
            case "/cut":
                response = web.StreamResponse()
                await response.prepare(request)
                await response.write(b"begun")
                assert request.transport
                request.transport.abort()
                return response
        return web.Response(body=await request.read(), headers={"Seen-Agent": request.headers["User-Agent"]})

    runner = web.ServerRunner(web.Server(serve, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("tokens", "status"), [(["good"], 200), (["old", "good"], 200), (["old", "older"], 401)], ids=["good", "renewed", "bad"]
)
async def test_a_refused_identity_is_refreshed_once(url: str, tokens: list[str], status: int) -> None:
    transport = HttpTransport(Connection(server=url, credentials=Rotating(*tokens)), user_agent="me")
    answer = await transport.request("POST", "/echo", body=b"hello")
    assert answer.status == status
    if status == 200:
        assert answer.body == b"hello"
        assert answer.headers["seen-agent"].startswith("me/")
    await transport.close()


async def test_credentials_that_cannot_be_had_refuse_the_request_with_their_reason(url: str, tmp_path: Path) -> None:
    transport = HttpTransport(Connection(server=url, credentials=TokenFile(tmp_path / "token")))
    with pytest.raises(Unauthorized, match=r"The token file .*token cannot be read: No such file"):
        await transport.request("GET", "/echo")
    (tmp_path / "token").write_text("good")
    assert (await transport.request("GET", "/echo")).status == 200
    await transport.close()


async def test_a_token_that_is_refused_when_its_file_is_gone_is_no_end(url: str, tmp_path: Path) -> None:
    """Anything but an ApiError would end the process of whoever watches."""
    (tmp_path / "token").write_text("old")
    transport = HttpTransport(Connection(server=url, credentials=TokenFile(tmp_path / "token")))
    assert (await transport.request("GET", "/echo")).status == 401
    (tmp_path / "token").unlink()
    with pytest.raises(Unauthorized, match="cannot be read"):
        await transport.request("GET", "/echo")
    await transport.close()


async def test_a_redirect_is_not_followed_with_our_identity(url: str) -> None:
    transport = HttpTransport(Connection(server=url, credentials=Rotating("good")))
    assert (await transport.request("GET", "/redirect")).status == 302
    await transport.close()


async def test_a_refused_stream_raises_before_its_first_chunk(url: str) -> None:
    transport = HttpTransport(Connection(server=url, credentials=Rotating("good")))
    with pytest.raises(Forbidden, match="GET /refused was answered 403: no"):
        async for _ in transport.stream("GET", "/refused"):
            pass
    await transport.close()


async def test_a_stream_that_is_cut_is_told_from_one_that_ends(url: str) -> None:
    transport = HttpTransport(Connection(server=url, credentials=Rotating("good")))
    async with aclosing(transport.stream("GET", "/cut")) as chunks:
        assert await anext(chunks) == b"begun"
        with pytest.raises(ConnectionProblem):
            await anext(chunks)
    assert [chunk async for chunk in transport.stream("GET", "/echo")] == []
    await transport.close()


async def test_requests_that_are_refused_together_share_a_refresh(url: str) -> None:
    """Only the first sees that the token is another; all go out again."""

    class Renewed(Rotating):
        async def refresh(self) -> bool:
            if len(self.tokens) == 1:
                return False
            self.tokens.pop(0)
            return True

    transport = HttpTransport(Connection(server=url, credentials=Renewed("old", "good")))
    answers = await asyncio.gather(*(transport.request("GET", "/echo") for _ in range(8)))
    assert {answer.status for answer in answers} == {200}
    await transport.close()


async def test_log_of_a_server_that_cannot_be_reached_blames_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both limits at a tenth: a server that accepts connections and answers no TLS."""
    monkeypatch.setattr(transport_module, "CONNECT_TIMEOUT", transport_module.CONNECT_TIMEOUT / 10)
    monkeypatch.setattr(client_module, "LOG_SECONDS", client_module.LOG_SECONDS / 10)

    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with Client(HttpTransport(Connection(server=url, credentials=Rotating("good")))) as client:
            with pytest.raises(ConnectionProblem, match=r"no connection within 1 s"):
                _ = [chunk async for chunk in client.logs("p", "n")]
