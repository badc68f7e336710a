"""A small API server that the cluster's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.api_server import RunningApiServer, start_api_server


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    """One API server for all tests of a session (URL, token, kubeconfig): each test works in namespaces of its own."""
    server = start_api_server(tmp_path_factory.mktemp("cluster"))
    yield server
    server.stop()
