"""`node`: this machine as a node of any cluster, its pods as processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def node(
    kubeconfig: Annotated[Path | None, typer.Option(help="Cluster to join [default: $KUBECONFIG].")] = None,
    name: Annotated[str, typer.Option(help="Name of the Node [default: this machine's host name].")] = "",
    state_dir: Annotated[
        Path | None, typer.Option(help="Where pods keep their files [default: ~/.local/state/shunter/nodes/NAME].")
    ] = None,
    level: Annotated[
        Literal["namespaces", "plain", "simulated"] | None,
        typer.Option(help="How pods run [default: the best this machine allows]."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file mapping image names to environments.")
    ] = None,
    allocatable: Annotated[
        str,
        typer.Option(
            help="What the scheduler may count on, as in cpu=64,memory=256Gi,nvidia.com/gpu=8 [default: what is there]."
        ),
    ] = "",
    strict_resources: Annotated[
        bool, typer.Option("--strict-resources", help="Refuse an --allocatable beyond what this machine has.")
    ] = False,
    address: Annotated[str, typer.Option(help="Where the API server reaches this machine [default: found out].")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the node's own server; 0 takes a free one.")] = 0,
    client_ca_file: Annotated[
        Path | None, typer.Option(help="Authority of client certificates [default: what the cluster says].")
    ] = None,
    tls_cert_dir: Annotated[Path | None, typer.Option(help="Holds tls.crt and tls.key [default: made anew].")] = None,
    reach: Annotated[
        list[str] | None,
        typer.Option(help="NAME:PORT=HOST:PORT: lets pods reach a service that is outside of their network; may be repeated."),
    ] = None,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="Evict its pods as disruption budgets allow, then stop the node and remove it."),
    ] = False,
    health_probe_bind_address: Annotated[str, typer.Option(help="Address of /healthz and /readyz; 0 switches it off.")] = "0",
) -> None:
    """Join this machine to a cluster as a node, until SIGTERM; its pods run on and the next start takes them over."""
    from shunter.cluster.node.process import NodeOptions, serve
    from shunter.cluster.node.runtime.protocol import Level

    serve(
        NodeOptions(
            kubeconfig=kubeconfig,
            name=name,
            state_dir=state_dir,
            level=Level(level) if level else None,
            images=images,
            allocatable=allocatable,
            strict_resources=strict_resources,
            address=address,
            port=port,
            client_ca_file=client_ca_file,
            tls_cert_dir=tls_cert_dir,
            reach=tuple(reach or ()),
            drain=drain,
            health_probe_bind_address=health_probe_bind_address,
        )
    )
