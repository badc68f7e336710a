"""A real control plane whose pods run on this machine, all of them: for what is installed as a cluster's administrator would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conformance.process_node import TAINT, ProcessNode
from control_plane import ControlPlane
from e2e.running_cluster import REPOSITORY
from shunter.api.meta import Json
from shunter.cluster.node.process import remove_files

GROUP = "admissionregistration.k8s.io"
SHIMS = Path(__file__).parent / "bin"
"""Commands that documents use and machines may not have."""


class ProcessCluster:
    """Control plane, node, and a policy by which every pod tolerates that node."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.node = ProcessNode(plane, directory)
        self.directory = directory
        binaries = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "KUBECONFIG": str(plane.kubeconfig),
            "PATH": f"{SHIMS}:{binaries}:{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def start(self) -> None:
        self.node.apply(*_every_pod_tolerates_process_nodes())
        self.node.start()

    def stop(self) -> None:
        self.run("kubectl delete deployments --all -A --wait=false; kubectl delete pods --all -A --grace-period=1 --timeout=30s")
        self.node.terminate()
        remove_files(self.node.state_dir)

    def run(self, script: str, *, kubeconfig: Path | None = None, seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """What bash makes of a script, in the repository. Files that it names without a directory land in the test's own."""
        environment = {**self.environment, "KUBECONFIG": str(kubeconfig)} if kubeconfig else self.environment
        command = ["bash", "-euo", "pipefail", "-c", script]
        return subprocess.run(
            command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=seconds, check=False
        )

    def must(self, script: str, *, seconds: float = 240) -> str:
        """Standard output of a script that succeeded."""
        done = self.run(script, seconds=seconds)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}\n{self._node_log()}"
        return done.stdout

    def _node_log(self) -> str:
        """The end of it; nothing where no node was started."""
        log = self.directory / "node.log"
        return f"the node says:\n{log.read_text()[-3000:]}" if log.exists() else ""


def _every_pod_tolerates_process_nodes() -> list[Json]:
    patch = (
        '[JSONPatch{op: "add", path: "/spec/tolerations/-", '
        f'value: Object.spec.tolerations{{key: "{TAINT}", operator: "Exists"}}}}]'
    )
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [pods]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    version, name = f"{GROUP}/v1", {"name": "process-nodes"}
    return [
        {"apiVersion": version, "kind": "MutatingAdmissionPolicy", "metadata": name, "spec": spec},
        {
            "apiVersion": version,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": name,
            "spec": {"policyName": "process-nodes"},
        },
    ]
