"""One cluster, of the kind that `--cluster` names, for all e2e tests of a worker; every test gets a namespace of its own."""

from __future__ import annotations

import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.job_life import Ends, lead
from e2e.real_cluster import RealCluster
from e2e.running_cluster import SHUNTER, Cluster, SharedClaim


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running: EmbeddedCluster | RealCluster
    if request.config.getoption("cluster") == "real":
        running = RealCluster(request.getfixturevalue("control_plane"))
    else:
        warm = request.config.getoption("--warm")
        options = ["--autoscaler-sync-period=2", *(["--warm", warm] if warm else [])]
        running = EmbeddedCluster(tmp_path_factory.mktemp("cluster") / "state", options=options)
    try:
        running.up()
        yield running
    finally:
        running.down()


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    name = f"t-{uuid.uuid4().hex[:8]}"
    cluster.create_namespace(name)
    yield name
    cluster.delete_namespace(name)


@pytest.fixture
def shared_claim(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[SharedClaim]:
    claim = SharedClaim("shared", tmp_path / "shared")
    claim.directory.mkdir()
    claim.directory.chmod(0o777)
    modes = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        **modes,
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": namespace, "name": claim.name},
        "hostPath": {"path": str(claim.directory)},
    }
    name = f"{namespace}-{claim.name}"
    asked = {**modes, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": name}
    cluster.apply(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim.name, "namespace": namespace},
            "spec": asked,
        },
    )
    yield claim
    cluster.kubectl("delete", "persistentvolume", name, "--wait=false")


@pytest.fixture(scope="module")
def ends(request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Ends:
    """The stories of the module, lived side by side."""
    return lead(cluster, request.module.STORIES.stories, tmp_path_factory.mktemp("lives"))


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Any]:
    """Starts `shunter ...` with its output in one pipe; SIGINT reaches it as from a terminal."""
    started: list[subprocess.Popen[str]] = []

    def popen(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*SHUNTER, *arguments],
            env={**cluster.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/e2e" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)
