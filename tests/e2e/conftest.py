"""One embedded cluster for all e2e tests of a worker; every test gets a namespace of its own."""

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.running_cluster import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("cluster") / "state")
    up = running.shunter("up")
    assert up.returncode == 0, up.stderr
    yield running
    assert running.shunter("down").returncode == 0
    leftovers = subprocess.run(["pgrep", "-f", str(running.state.root)], capture_output=True, text=True, check=False).stdout
    assert leftovers == "", f"processes of the cluster outlive `down`: {leftovers}"
    assert str(running.state.root) not in Path("/proc/mounts").read_text(), "mounts of the cluster outlive `down`"


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    name = f"t-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/e2e" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.xdist_group("e2e"))
