"""One simulated cluster and one page on it, for all tests of the page in a worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from page.server import RunningPage, page_of, running


@pytest.fixture(scope="session")
def page_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """Marks pods Running at once, and runs none."""
    cluster = EmbeddedCluster(tmp_path_factory.mktemp("page") / "state", options=["--simulate"])
    cluster.up()
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def page(page_cluster: EmbeddedCluster) -> Iterator[RunningPage]:
    with running(page_of(page_cluster)) as found:
        yield found


@pytest.fixture
def page_namespace(page_cluster: EmbeddedCluster) -> Iterator[str]:
    name = f"p-{uuid.uuid4().hex[:8]}"
    page_cluster.create_namespace(name)
    yield name
    page_cluster.kubectl("delete", "namespace", name, "--wait=false")
