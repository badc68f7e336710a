"""A running cluster as a user meets it: through the command, kubectl and files. What kind it is a test need not know."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import forked_command
from e2e.api_requests import ApiRequests

REPOSITORY = Path(__file__).parents[2]
SHUNTER = [sys.executable, "-m", "shunter.cli.main"]
KUBECTL = str(Path(sys.executable).parent / "kubectl")

Component = Literal["apiserver", "operator", "node"]


class Cluster(ABC):
    """A running cluster whose nodes run pods as processes of this machine, with the operator in it."""

    kind: ClassVar[Literal["embedded", "real"]]

    def __init__(self, kubeconfig: Path, **environment: str) -> None:
        self.kubeconfig = kubeconfig
        self._requests = ApiRequests(kubeconfig)
        self.environment = {
            **os.environ,
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "KUBECACHEDIR": str(kubeconfig.parent / "kube-cache"),
            **environment,
        }

    @abstractmethod
    def namespace(self, name: str) -> dict[str, Any]:
        """A namespace whose pods may run on the cluster's nodes."""

    @abstractmethod
    def kill(self, component: Component) -> None:
        """Kills a component as `kill -9` does; returns when another process has taken its place."""

    def create_namespace(self, *names: str) -> None:
        """Creates namespaces whose pods may run on the cluster's nodes."""
        self.apply(*map(self.namespace, names))

    def shunter(
        self, *arguments: str, stdin: str | None = None, timeout: float = 90, cwd: Path = REPOSITORY
    ) -> subprocess.CompletedProcess[str]:
        if self.kind == "embedded":
            return forked_command.shunter(*arguments, environment=self.environment, stdin=stdin, timeout=timeout, cwd=cwd)
        return subprocess.run(
            [*SHUNTER, *arguments],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=cwd,
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
            env={**self.environment, "KUBECONFIG": str(self.kubeconfig)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start_kubectl(self, *arguments: str, stderr: int | None = None) -> subprocess.Popen[str]:
        """A kubectl that goes on running; its standard output is a pipe."""
        environment = {**self.environment, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.Popen([KUBECTL, *arguments], env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)

    def get(self, *arguments: str) -> dict[str, Any]:
        """What `kubectl get -o json` shows."""
        found = self._requests.get(*arguments)
        return json.loads(self.kubectl("get", *arguments, "-o", "json")) if found is None else found

    def evict(self, pod: str, namespace: str) -> None:
        """As `kubectl drain` does."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
        self.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))

    def apply(self, *objects: dict[str, Any]) -> None:
        """As `kubectl apply --server-side` does."""
        for obj in objects:
            self._requests.apply(obj)

    def delete_namespace(self, name: str) -> None:
        """As `kubectl delete --wait=false` does."""
        self._requests.delete_namespace(name)


class SharedClaim(NamedTuple):
    """A claim that all nodes can mount, and the directory of this machine that its volume is."""

    name: str
    directory: Path


def own_address() -> str:
    """One of this machine's that pods reach, too: a pod has a loopback of its own. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))
        return str(asking.getsockname()[0])


def eventually(check: Callable[[], Any], *, seconds: float = 60) -> Any:
    """The first true result of `check`; fails with the last one when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if result or time.monotonic() > deadline:
            assert result, f"not so within {seconds} s: {check}"
            return result
        time.sleep(0.05)


def assert_nothing_left(directory: Path) -> None:
    """No process and no mount of a cluster that kept its files there."""
    leftovers = subprocess.run(["pgrep", "-fa", str(directory)], capture_output=True, text=True, check=False).stdout
    assert leftovers == "", f"processes of the cluster outlive it: {leftovers}"
    assert str(directory) not in Path("/proc/mounts").read_text(), "mounts of the cluster outlive it"
