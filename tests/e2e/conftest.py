"""One embedded cluster for all e2e tests of a worker; every test gets a namespace of its own."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.state_dir import StateDir

REPOSITORY = Path(__file__).parents[2]
SHUNTER = [sys.executable, "-m", "shunter.cli.main"]
KUBECTL = str(Path(sys.executable).parent / "kubectl")


class Cluster:
    """A running cluster as a user meets it: through the command, kubectl and files."""

    def __init__(self, state_dir: Path) -> None:
        self.state = StateDir(state_dir)
        self.environment = {
            **os.environ,
            "SHUNTER_STATE_DIR": str(state_dir),
            "KUBECONFIG": "",
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "KUBECACHEDIR": str(state_dir / "kube-cache"),
        }

    def shunter(self, *arguments: str, stdin: str | None = None, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SHUNTER, *arguments],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=REPOSITORY,
            check=False,
        )

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Standard output of a kubectl that succeeded."""
        done = self.try_kubectl(*arguments, stdin=stdin, timeout=timeout)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [KUBECTL, *arguments],
            env={**self.environment, "KUBECONFIG": str(self.state.kubeconfig)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start_kubectl(self, *arguments: str) -> subprocess.Popen[str]:
        """A kubectl that goes on running; its standard output is a pipe."""
        environment = {**self.environment, "KUBECONFIG": str(self.state.kubeconfig)}
        return subprocess.Popen([KUBECTL, *arguments], env=environment, stdout=subprocess.PIPE, text=True)

    def get(self, *arguments: str) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return result

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", stdin="\n---\n".join(json.dumps(obj) for obj in objects))

    def children(self) -> dict[str, int]:
        """Process id of each component."""
        record = self.state.read_record()
        assert record is not None, "the cluster is up"
        return record.children


def eventually(check: Callable[[], Any], *, seconds: float = 30) -> Any:
    """The first true result of `check`; fails with the last one when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if result or time.monotonic() > deadline:
            assert result, f"not so within {seconds} s: {check}"
            return result
        time.sleep(0.05)


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
