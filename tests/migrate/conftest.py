"""Clients of a control plane without nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from faults.planes import Plane
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.kubeconfig import Connection


@pytest.fixture
def connection(plane: Plane) -> Connection:
    return kubeconfig.load(plane.kubeconfig)


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    async with connect(connection) as found:
        yield found
