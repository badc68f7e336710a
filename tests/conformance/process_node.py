"""`shunter node` as a process on the real control plane, and kubectl beside it."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from control_plane import ControlPlane, answers, free_ports
from e2e.api_requests import ApiRequests
from e2e.running_cluster import KUBECTL, REPOSITORY, SHUNTER
from shunter.api.meta import Json

READY_SECONDS = 60.0
STOP_SECONDS = 30.0
TAINT = "shunter.dev/process"

T = TypeVar("T")


class ProcessNode:
    """One node with a name, a directory and a namespace of its own. `start` and `kill` may be called again and again."""

    def __init__(self, plane: ControlPlane, directory: Path, kubeconfig: Path | None = None, name: str = "") -> None:
        self.plane = plane
        self.directory = directory
        self.name = name or f"node-{uuid.uuid4().hex[:6]}"
        self.namespace = f"test-{self.name}"
        self._requests = ApiRequests(plane.kubeconfig, self.namespace)
        self.kubeconfig = kubeconfig or plane.kubeconfig
        self.files = directory / "shared"
        """A directory that pods may mount by its path: it is not the node's own."""
        self.files.mkdir(parents=True)
        self._health = free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def state_dir(self) -> Path:
        return self.directory / "state"

    @property
    def log(self) -> str:
        return (self.directory / "node.log").read_text()

    def start(self, *flags: str) -> None:
        """Returns once the node is ready."""
        self.launch(*flags)
        self.wait_until_ready()

    def launch(self, *flags: str) -> None:
        """Returns at once."""
        health = f"--health-probe-bind-address=127.0.0.1:{self._health}"
        with (self.directory / "node.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command(), health, *flags], cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_until_ready(self) -> None:
        self.eventually(lambda: answers(f"http://127.0.0.1:{self._health}/readyz"), "ready", READY_SECONDS)

    def run(self, *flags: str, seconds: float = STOP_SECONDS) -> subprocess.CompletedProcess[str]:
        """`shunter node` with more flags, to its end; TimeoutExpired when that is not within `seconds`."""
        command = [*self._command(), *flags]
        return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=seconds, check=False)

    def kill(self) -> None:
        assert self._process is not None, "the node was started"
        self._process.kill()
        self._process.wait()

    def terminate(self) -> int:
        """The exit code after SIGTERM."""
        assert self._process is not None, "the node was started"
        self._process.terminate()
        return self._process.wait(STOP_SECONDS)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _command(self) -> list[str]:
        flags = [f"--kubeconfig={self.kubeconfig}", f"--name={self.name}", f"--state-dir={self.state_dir}", "--address=127.0.0.1"]
        return [*SHUNTER, "node", *flags]

    # The cluster.

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output of a kubectl that succeeded, in the test's namespace."""
        done = self.try_kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}\n{self.log if self._process else ''}"
        return done.stdout

    def try_kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.plane.kubeconfig),
            "KUBECACHEDIR": str(self.plane.directory / "kube-cache"),
        }
        command = [KUBECTL, "--namespace", self.namespace, *arguments]
        return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False)

    def get(self, *arguments: str) -> Json:
        found = self._requests.get(*arguments)
        return json.loads(self.kubectl("get", *arguments, "-o", "json")) if found is None else found

    def apply(self, *objects: Json) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", stdin="\n---\n".join(json.dumps(obj) for obj in objects))

    def pod_template(self, script: str, **container: Any) -> Json:
        """The spec of a pod that runs a script here: it asks for process nodes, and for this one."""
        mounts = [{"name": "files", "mountPath": "/files"}]
        main = {"name": "main", "image": "any", "command": ["sh", "-c", script], "volumeMounts": mounts, **container}
        return {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "nodeSelector": {"kubernetes.io/hostname": self.name},
            "tolerations": [{"key": TAINT, "operator": "Exists"}],
            "containers": [main],
            "volumes": [{"name": "files", "hostPath": {"path": str(self.files)}}],
        }

    def run_pod(self, name: str, script: str, *, spec: Json | None = None, **container: Any) -> None:
        body = self.pod_template(script, **container) | (spec or {})
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": body})

    def phase(self, pod: str) -> str:
        return str(self.get("pod", pod)["status"].get("phase"))

    def wait_for_phase(self, pod: str, phase: str) -> Json:
        self.eventually(lambda: self.phase(pod) == phase, f"pod {pod} {phase}")
        return self.get("pod", pod)

    def restarts(self, pod: str) -> int:
        """How often the pod's first container was started again."""
        return sum(one["restartCount"] for one in self.get("pod", pod)["status"].get("containerStatuses", ())[:1])

    def is_ready(self, *what: str) -> bool:
        """Whether a Node or a Pod says that it is ready."""
        conditions = self.get(*what)["status"].get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def events(self, reason: str) -> list[str]:
        """The messages of the events of this reason."""
        found = self.get("events", f"--field-selector=reason={reason}")["items"]
        return [event["message"] for event in found]

    def eventually(self, check: Callable[[], T], what: str, seconds: float = 60.0) -> T:
        """The first true answer."""
        deadline = time.monotonic() + seconds
        while True:
            if answer := check():
                return answer
            if time.monotonic() > deadline:
                log = self.log if (self.directory / "node.log").exists() else ""
                raise AssertionError(f"not {what} within {seconds:g} s; the node says:\n{log[-3000:]}")
            time.sleep(0.05)
