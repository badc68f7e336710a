"""Which cluster a command talks to: the one that was named, else the embedded one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from shunter.cli import completion
from shunter.errors import EnvironmentProblem

if TYPE_CHECKING:
    from shunter.api.meta import Json
    from shunter.cluster.state_dir import StateDir
    from shunter.kube.client import Client

KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", help="Cluster to use [default: $KUBECONFIG, else the embedded cluster].")
]
ContextOption = Annotated[
    str, typer.Option("--context", autocompletion=completion.contexts, help="Context of the kubeconfig to use.")
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        autocompletion=completion.namespaces,
        help="Namespace of the job [default: all of them are searched].",
    ),
]


class Target(NamedTuple):
    """A cluster to talk to. `embedded` is its state directory when it is ours."""

    client: Client
    embedded: StateDir | None
    description: str


def is_named(kubeconfig: Path | None, context: str) -> bool:
    """Whether the user chose a cluster. A ~/.kube/config that merely exists is no choice: it may be production."""
    return kubeconfig is not None or bool(context) or bool(os.environ.get("KUBECONFIG"))


def connect(kubeconfig: Path | None, context: str) -> Target:
    """The chosen cluster, or the running embedded one; EnvironmentProblem when that is down."""
    from shunter.cluster.state_dir import StateDir, default_state_dir
    from shunter.kube import client
    from shunter.kube import kubeconfig as kubeconfigs

    if is_named(kubeconfig, context):
        connection = kubeconfigs.load(kubeconfig, context=context)
        embedded = embedded_at(connection.server, kubeconfig)
        return Target(patient(client.connect(connection), connection.server), embedded, connection.server)
    state = StateDir(default_state_dir())
    if state.read_record() is None:
        raise EnvironmentProblem(
            "no cluster was named and no embedded cluster is up.", "Start one with `shunter up`, or set KUBECONFIG."
        )
    connection = kubeconfigs.load(state.kubeconfig)
    return Target(patient(client.connect(connection), connection.server), state, f"embedded cluster {connection.server}")


def patient(api: Client, server: str) -> Client:
    """The client, which says so when the server lets it wait."""
    from shunter.cli.patience import Telling

    api.transport = Telling(api.transport, server)
    return api


def embedded_at(server: str, kubeconfig: Path | None) -> StateDir | None:
    """The embedded cluster behind a kubeconfig that `up` wrote, if it is one."""
    from shunter.cluster.state_dir import StateDir

    path = kubeconfig or Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0])
    state = StateDir(path.absolute().parent)
    record = state.read_record() if path.name == "kubeconfig" else None
    return state if record is not None and record.server == server else None


async def embedded_node(state: StateDir) -> Json:
    """The Node object of an embedded cluster; empty when it has none."""
    from shunter.api.resources import NODES
    from shunter.kube import client, kubeconfig

    connection = kubeconfig.load(state.kubeconfig)
    async with patient(client.connect(connection), connection.server) as api:
        nodes = (await api.list(NODES)).items
    return nodes[0] if nodes else {}
