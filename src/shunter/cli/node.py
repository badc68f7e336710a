"""`node`: joins this machine to a cluster as a node that runs pods as processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from shunter.cluster.node.process import NodeOptions, serve
from shunter.cluster.node.runtime.protocol import Level


def node(
    kubeconfig: Annotated[Path | None, typer.Option(help="Cluster to join [default: $KUBECONFIG].")] = None,
    name: Annotated[str, typer.Option(help="Name of the Node [default: this machine's host name].")] = "",
    state_dir: Annotated[
        Path | None, typer.Option(help="Directory for the files of pods [default: ~/.local/state/shunter/nodes/NAME].")
    ] = None,
    level: Annotated[
        Literal["namespaces", "plain", "simulated"] | None,
        typer.Option(help="Isolation of pods [default: the strongest available]."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file mapping image names to environments.")
    ] = None,
    allocatable: Annotated[
        str,
        typer.Option(help="Allocatable resources, as in cpu=64,memory=256Gi,nvidia.com/gpu=8 [default: detected]."),
    ] = "",
    strict_resources: Annotated[
        bool, typer.Option("--strict-resources", help="Reject an --allocatable above the resources of this machine.")
    ] = False,
    max_container_restart_period: Annotated[
        float,
        typer.Option(min=0, max=300, help="Longest restart back-off of containers in seconds; 0 is the default, 300."),
    ] = 0,
    address: Annotated[str, typer.Option(help="Address at which the API server reaches this machine [default: detected].")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the node's server; 0 picks a free one.")] = 0,
    client_ca_file: Annotated[Path | None, typer.Option(help="CA of client certificates [default: that of the cluster].")] = None,
    tls_cert_dir: Annotated[Path | None, typer.Option(help="Directory with tls.crt and tls.key [default: generated].")] = None,
    reach: Annotated[
        list[str] | None,
        typer.Option(help="NAME:PORT=HOST:PORT: make a service outside the pod network reachable for pods; repeatable."),
    ] = None,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="Evict the pods of the node within disruption budgets, then stop and remove the node."),
    ] = False,
    health_probe_bind_address: Annotated[str, typer.Option(help="Address of /healthz and /readyz; 0 disables it.")] = "0",
) -> None:
    """Join this machine to a cluster as a node, until SIGTERM. Its pods keep running; the next start takes them over."""
    serve(
        NodeOptions(
            kubeconfig=kubeconfig,
            name=name,
            state_dir=state_dir,
            level=Level(level) if level else None,
            images=images,
            allocatable=allocatable,
            strict_resources=strict_resources,
            max_restart_period=max_container_restart_period,
            address=address,
            port=port,
            client_ca_file=client_ca_file,
            tls_cert_dir=tls_cert_dir,
            reach=tuple(reach or ()),
            drain=drain,
            health_probe_bind_address=health_probe_bind_address,
        )
    )
