"""Control planes without nodes: an API server with Job, JobSet, garbage and namespace controllers. Tests say how pods do."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Literal, Protocol

from cluster.api_server import RunningApiServer, start_api_server
from shunter.cluster.state_dir import StateDir
from shunter.kube import kubeconfig
from shunter.kube.kubeconfig import Connection

Kind = Literal["embedded", "real"]

KUBECTL = str(Path(sys.executable).parent / "kubectl")
DEFINITIONS = [
    file for file in sorted((Path(__file__).parents[2] / "deploy" / "crds").glob("*.yaml")) if not file.name.startswith("jobsets")
]
"""What our operator serves; JobSet brings its own."""


class Plane(Protocol):
    """One control plane; the API server may be taken away and brought back with what it had stored."""

    kind: Kind
    kubeconfig: Path

    def stop_api_server(self) -> None:
        """kill -9."""

    def start_api_server(self) -> None:
        """Returns when it is ready, at its old address."""

    def close(self) -> None: ...


class EmbeddedPlane:
    """Our API server and agent."""

    kind: Kind = "embedded"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._server: RunningApiServer = start_api_server(directory)
        self._port = int(self._server.url.rpartition(":")[2])
        self.kubeconfig = self._server.kubeconfig
        command = [sys.executable, "-m", "shunter.cluster.agent", "--state-dir", str(directory), "--no-node"]
        with open(StateDir(directory).logs / "agent.log", "ab") as log:
            self._agent = subprocess.Popen(command, stdout=log, stderr=log)

    def stop_api_server(self) -> None:
        self._server.process.send_signal(signal.SIGKILL)
        self._server.process.wait()

    def start_api_server(self) -> None:
        self._server = start_api_server(self._directory, self._port)

    def close(self) -> None:
        for process in (self._agent, self._server.process):
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=15)


class RealPlane:
    """kube-apiserver, etcd, kube-controller-manager and JobSet."""

    kind: Kind = "real"

    def __init__(self, directory: Path) -> None:
        from control_plane import ControlPlane

        self._plane = ControlPlane(directory, parts=PARTS, disabled_controllers=DISABLED_CONTROLLERS)
        self._plane.start()
        self.kubeconfig = self._plane.kubeconfig
        files = [argument for file in DEFINITIONS for argument in ("-f", str(file))]
        kubectl = [KUBECTL, "--kubeconfig", str(self.kubeconfig)]
        subprocess.run([*kubectl, "apply", "--server-side", *files], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*kubectl, "wait", "--for=condition=Established", *files], check=True, stdout=subprocess.DEVNULL)
        self._plane.learn_kinds()

    def stop_api_server(self) -> None:
        self._plane.stop_part("kube-apiserver", kill=True)

    def start_api_server(self) -> None:
        self._plane.start_part("kube-apiserver")

    def close(self) -> None:
        self._plane.stop()


PARTS: Collection[str] = ("etcd", "kube-apiserver", "kube-controller-manager", "jobset")
"""No scheduler: there is no node, and what it says about that would be told as events of every job."""
DISABLED_CONTROLLERS = ("pod-garbage-collector-controller",)
"""Every twenty seconds it deletes, by name, pods that are being deleted and have no node, which here all have: it may meet the
new pod of that name, and a test then counts a failure that nobody has caused."""


def new_plane(kind: str, directory: Path) -> Plane:
    return RealPlane(directory) if kind == "real" else EmbeddedPlane(directory)


def connection(plane: Plane) -> Connection:
    return kubeconfig.load(plane.kubeconfig)
