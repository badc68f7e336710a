"""Which cluster is meant: the one that was named, else the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shunter.cluster.state_dir import StateDir, default_state_dir
from shunter.errors import EnvironmentProblem
from shunter.kube import kubeconfig as kubeconfigs
from shunter.kube.client import Client
from shunter.kube.client import connect as client_of
from shunter.kube.kubeconfig import Connection


class Target(NamedTuple):
    """A cluster to talk to. `embedded` is its state directory when it is ours."""

    client: Client
    embedded: StateDir | None
    server: str
    is_default: bool = False
    """Whether it is the default, which was not named."""
    connection: Connection | None = None
    """What the client was made of, for what speaks more than HTTP."""

    @property
    def description(self) -> str:
        """`embedded cluster https://127.0.0.1:39009`; only the address where the cluster was named."""
        return f"embedded cluster {self.server}" if self.is_default else self.server


def is_named(kubeconfig: Path | None, context: str) -> bool:
    """Whether the user chose a cluster. A ~/.kube/config that merely exists is no choice: it may be production."""
    return kubeconfig is not None or bool(context) or bool(kubeconfigs.listed())


def is_down(kubeconfig: Path | None, context: str) -> bool:
    """Whether the embedded cluster is meant, and is not up."""
    return not is_named(kubeconfig, context) and StateDir(default_state_dir()).read_record() is None


def find_target(kubeconfig: Path | None = None, context: str = "") -> Target:
    """The chosen cluster, or the running embedded one; EnvironmentProblem when that is down."""
    if is_named(kubeconfig, context):
        connection = kubeconfigs.load(kubeconfig, context=context)
        return Target(client_of(connection), embedded_at(connection.server, kubeconfig), connection.server, connection=connection)
    if is_down(kubeconfig, context):
        raise EnvironmentProblem(
            "no cluster was named and no embedded cluster is up.", "Start one with `shunter up`, or set KUBECONFIG."
        )
    state = StateDir(default_state_dir())
    connection = kubeconfigs.load(state.kubeconfig)
    return Target(client_of(connection), state, connection.server, is_default=True, connection=connection)


def embedded_at(server: str, kubeconfig: Path | None) -> StateDir | None:
    """The embedded cluster behind a kubeconfig that `up` wrote, if there is one among those that are used."""
    for path in [kubeconfig] if kubeconfig else kubeconfigs.listed():
        state = StateDir(path.absolute().parent)
        record = state.read_record() if path.name == "kubeconfig" else None
        if record is not None and record.server == server:
            return state
    return None
