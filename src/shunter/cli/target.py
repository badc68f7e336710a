"""The cluster of a command: the one that its options name, else the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.options import completion

if TYPE_CHECKING:
    from shunter.api.meta import Json
    from shunter.cluster.state_dir import StateDir
    from shunter.cluster.target import Target
    from shunter.kube.client import Client

KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", help="Cluster to use [default: $KUBECONFIG, else the embedded cluster].")
]
ContextOption = Annotated[
    str,
    typer.Option(
        "--context", autocompletion=completion.contexts, help="Context to use, from --kubeconfig, $KUBECONFIG or ~/.kube/config."
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        autocompletion=completion.namespaces,
        help="Namespace of the job [default: all namespaces].",
    ),
]


def connect(kubeconfig: Path | None, context: str) -> Target:
    """The chosen cluster, or the running embedded one. Raises EnvironmentProblem if that is down. Prints a notice if the server
    responds slowly."""
    from shunter.cluster.target import find_target

    target = find_target(kubeconfig, context)
    return target._replace(client=patient(target.client, target.server))


def is_named(kubeconfig: Path | None, context: str) -> bool:
    """Whether the user chose a cluster."""
    from shunter.cluster import target

    return target.is_named(kubeconfig, context)


def patient(api: Client, server: str) -> Client:
    """The client with a notice if the server responds slowly."""
    from shunter.cli.output.slow_server_notice import SlowServerNotice

    api.transport = SlowServerNotice(api.transport, server)
    return api


async def embedded_node(state: StateDir) -> Json:
    """The Node object of an embedded cluster; empty if there is none."""
    from shunter.api.resources import NODES
    from shunter.kube import client, kubeconfig

    connection = kubeconfig.load(state.kubeconfig)
    async with patient(client.connect(connection), connection.server) as api:
        nodes = (await api.list(NODES)).items
    return nodes[0] if nodes else {}
