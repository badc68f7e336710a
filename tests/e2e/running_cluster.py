"""A running embedded cluster as a user meets it: the command, kubectl and files."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
