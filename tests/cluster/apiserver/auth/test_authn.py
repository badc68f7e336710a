"""Who gets in, as whom, and what they may do."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import msgspec
import pytest

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client, whoami
from cluster.apiserver.tls_server import issued


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
