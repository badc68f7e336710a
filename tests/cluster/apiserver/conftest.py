"""A client of the shared API server, and a namespace of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from cluster.api_server import RunningApiServer
from cluster.apiserver.http_client import Api, client

_names = itertools.count(1)


@pytest_asyncio.fixture
async def api(api_server: RunningApiServer) -> AsyncIterator[Api]:
    async with client(api_server) as api:
        yield api


@pytest_asyncio.fixture
async def namespace(api: Api) -> str:
    name = f"test-{next(_names)}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture
def config_maps(namespace: str) -> str:
    """The path of the namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{namespace}/configmaps"
