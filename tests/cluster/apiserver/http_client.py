"""An HTTP client for the API server under test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec

from cluster.api_server import RunningApiServer

Json = dict[str, Any]
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Answer(NamedTuple):
    """What the server said; `body` is JSON where it was JSON."""

    code: int
    body: Any
    headers: Any

    @property
    def warnings(self) -> list[str]:
        return list(self.headers.getall("Warning", []))


class Api:
    """Requests to one server as one user."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Answer:
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        sent = {"Content-Type": content_type} if data is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(method, path, data=data, headers=sent) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json" and raw
            return Answer(response.status, msgspec.json.decode(raw) if is_json else raw.decode(), response.headers)

    async def create(self, path: str, body: Json) -> Json:
        answer = await self.request("POST", path, body)
        assert answer.code == 201, answer.body
        created: Json = answer.body
        return created

    async def get(self, path: str) -> Json:
        answer = await self.request("GET", path)
        assert answer.code == 200, answer.body
        found: Json = answer.body
        return found

    async def merge(self, path: str, patch: Json) -> Answer:
        return await self.request("PATCH", path, patch, "application/merge-patch+json")

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator[Events]:
        async with self.session.get(path, headers={k.replace("_", "-"): v for k, v in headers.items()}) as response:
            assert response.status == 200, await response.text()
            yield Events(response)


class Events:
    """The events of a watch, one by one."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self, timeout: float = 10.0) -> Json:
        async with asyncio.timeout(timeout):
            line = await self.response.content.readline()
        assert line, "the watch has ended"
        event: Json = msgspec.json.decode(line)
        return event

    async def rest(self, timeout: float = 10.0) -> list[Json]:
        """The events until the watch ends."""
        async with asyncio.timeout(timeout):
            text = await self.response.content.read()
        return [msgspec.json.decode(line) for line in text.splitlines()]


@asynccontextmanager
async def client(server: RunningApiServer, token: str | None = None) -> AsyncIterator[Api]:
    headers = {"Authorization": f"Bearer {server.token if token is None else token}", "User-Agent": "tests/1"}
    connector = aiohttp.TCPConnector(ssl=server.tls, limit=0)
    async with aiohttp.ClientSession(
        server.url, connector=connector, headers=headers, read_bufsize=2**22, timeout=aiohttp.ClientTimeout(total=60)
    ) as session:
        yield Api(session)


async def whoami(api: Api) -> tuple[str, list[str]]:
    """User and groups of the requests, as the server sees them."""
    review = await api.create(WHOAMI, {})
    user = review["status"]["userInfo"]
    return user["username"], user["groups"]
