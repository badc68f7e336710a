"""A real control plane with our operator, and this machine as its only node."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from control_plane import ControlPlane, answers, free_ports
from e2e.kept_process import KeptProcess
from e2e.running_cluster import REPOSITORY, SHUNTER, Cluster, Component, assert_nothing_left, eventually
from shunter.cluster.lifecycle import DEFAULT_BACKOFF_LIMIT
from shunter.cluster.node.process import remove_files

NODE = "process-node"
ALLOCATABLE = "cpu=64,memory=256Gi,nvidia.com/gpu=8"
"""More than test machines have: the examples ask for GPUs, and run without them."""
TAINT = "shunter.dev/process"
CRDS = REPOSITORY / "deploy/crds"
START_SECONDS = 60.0
PODS_END_SECONDS = 30


class RealCluster(Cluster):
    """`shunter operator` and, unless without nodes, `shunter node` as processes beside a control plane that runs already."""

    kind = "real"

    def __init__(
        self,
        plane: ControlPlane,
        *,
        components: Sequence[Component] = ("operator", "node"),
        gang_scheduler: str = "",
        default_backoff_limit: int | None = DEFAULT_BACKOFF_LIMIT,
        options: Mapping[Component, Sequence[str]] = {},
    ) -> None:
        """`options` are further flags of the components. `default_backoff_limit` is that of v1 jobs which set none, as on the
        embedded cluster; None for no limit, as upstream."""
        self.plane = plane
        self._options = options
        self._gang_scheduler = gang_scheduler
        self._default_backoff_limit = default_backoff_limit
        self._components = components
        self._processes: dict[Component, KeptProcess] = {}
        self._ports = dict(zip(("operator", "node"), free_ports(2), strict=True))
        super().__init__(plane.kubeconfig, KUBECONFIG=str(plane.kubeconfig))

    def up(self) -> None:
        """Installs our kinds and starts the components; returns when they are ready."""
        definitions = [path for path in sorted(CRDS.glob("*.yaml")) if "jobset" not in path.name]  # JobSet's own is there
        self.kubectl("apply", "--server-side", *(f"--filename={path}" for path in definitions))
        self.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
        self.plane.learn_kinds()
        self.create_namespace("training")  # the examples' own, which they apply without an annotation
        for component in self._components:
            self._start(component)
        for component in self._components:
            self._wait_until_ready(component)

    def down(self) -> None:
        """Ends every pod, then node and operator, whose webhooks go with it."""
        try:
            if "node" in self._processes:
                self.kubectl("delete", "pods", "--all", "--all-namespaces", "--grace-period=1", "--wait=false")
                self.kubectl("wait", "pods", "--all", "--all-namespaces", "--for=delete", f"--timeout={PODS_END_SECONDS}s")
        finally:
            for process in self._processes.values():
                process.stop()
            if "node" in self._processes:
                remove_files(self._directory("node"))
        self._forget_webhooks()
        assert_nothing_left(self._directory("node"))

    def _forget_webhooks(self) -> None:
        """Whoever uses the control plane next may have no operator to ask."""
        registered = self.kubectl("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name").split()
        ours = [name for name in registered if "jobset" not in name]
        if ours:
            self.kubectl("delete", *ours)

    def namespace(self, name: str) -> dict[str, Any]:
        tolerations = json.dumps([{"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}])
        annotations = {"scheduler.alpha.kubernetes.io/defaultTolerations": tolerations}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}

    def kill(self, component: Component) -> None:
        if component == "apiserver":
            self.plane.stop_part("kube-apiserver", kill=True)
            self.plane.start_part("kube-apiserver")
        else:
            self._processes[component].kill()

    def _start(self, component: Component) -> None:
        if component == "operator":
            arguments = [
                "operator",
                "--register-webhooks",
                "--install-runtimes",
                "--webhook-host=127.0.0.1",
                "--webhook-port=0",
                "--metrics-bind-address=0",
                f"--gang-scheduler-name={self._gang_scheduler}",
            ]
            if self._default_backoff_limit is not None:
                arguments.append(f"--default-backoff-limit={self._default_backoff_limit}")
        else:
            state_dir = f"--state-dir={self._directory('node')}"
            arguments = ["node", f"--name={NODE}", state_dir, f"--allocatable={ALLOCATABLE}", "--address=127.0.0.1"]
        arguments += [
            *self._options.get(component, ()),
            f"--kubeconfig={self.kubeconfig}",
            f"--health-probe-bind-address=127.0.0.1:{self._ports[component]}",
        ]
        self._processes[component] = KeptProcess([*SHUNTER, *arguments], log=self._log(component))

    def _wait_until_ready(self, component: Component) -> None:
        url = f"http://127.0.0.1:{self._ports[component]}/readyz"
        deadline = time.monotonic() + START_SECONDS
        while not answers(url):
            log = self._log(component)
            assert time.monotonic() < deadline, f"{component} is not ready; {log}:\n{log.read_text()[-2000:]}"
            time.sleep(0.05)
        if component == "node":
            condition = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}=True'
            eventually(lambda: self.try_kubectl("wait", f"node/{NODE}", f"--for={condition}", "--timeout=20s").returncode == 0)

    def _log(self, component: Component) -> Path:
        return self.plane.directory / f"{component}.log"

    def _directory(self, component: Component) -> Path:
        return self.plane.directory / component
