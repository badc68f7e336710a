"""The cluster that `shunter up` starts."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from e2e.running_cluster import Cluster, Component, assert_nothing_left, eventually
from shunter.cluster.state_dir import StateDir

CHILDREN = {"apiserver": "apiserver", "operator": "operator", "node": "agent"}
"""The child of the supervisor that is, or holds, a component."""


class EmbeddedCluster(Cluster):
    """An embedded cluster with its state in a directory of its own; `up` and `down` are the commands."""

    kind = "embedded"

    def __init__(self, state_dir: Path, *, options: Sequence[str] = ()) -> None:
        self.state = StateDir(state_dir)
        self._options = options
        super().__init__(self.state.kubeconfig, SHUNTER_STATE_DIR=str(state_dir), KUBECONFIG="")

    def up(self, *options: str) -> None:
        done = self.shunter("up", *self._options, *options)
        assert done.returncode == 0, done.stderr

    def down(self) -> None:
        assert self.shunter("down").returncode == 0
        assert_nothing_left(self.state.root)

    def namespace(self, name: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

    def kill(self, component: Component) -> None:
        child = CHILDREN[component]
        killed = self.children()[child]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: self.children().get(child, killed) != killed)

    def children(self) -> dict[str, int]:
        """Process id of each child of the supervisor."""
        record = self.state.read_record()
        assert record is not None, "the cluster is up"
        return record.children
