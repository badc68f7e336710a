"""The process beside the API server: controllers of Kubernetes' own kinds and of JobSet, the scheduler, and the node.

    python -m shunter.cluster.agent --state-dir DIR [--simulate] [--strict-resources] [--level LEVEL] [--images FILE]
        [--strict-images] [--autoscaler-sync-period SECONDS] [--reach NAME:PORT=HOST:PORT ...] [--warm MODULES]
    python -m shunter.cluster.agent --state-dir DIR --teardown

Talks to the API server only over HTTP, with its own credentials. Killed at any time, its pods run on and the next agent
adopts them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from shunter.cluster.state_dir import StateDir
from shunter.errors import ShunterError
from shunter.kube import kubeconfig, logs
from shunter.kube.client import Client, connect
from shunter.kube.controllers.manager import Manager
from shunter.kube.tls.certificates import KeyPair

NODE_NAME = "shunter"


def main(arguments: list[str]) -> int:
    """The exit status: 0 at the end of `run`, which SIGTERM brings about, and of a teardown; else that of the ShunterError, which
    is printed to stderr."""
    parser = argparse.ArgumentParser(prog="shunter-agent", description="Controllers, scheduler and node of an embedded cluster.")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--health-probe-bind-address", default="0")
    parser.add_argument("--level", choices=("namespaces", "plain", "simulated"), help="default: the best this machine allows")
    parser.add_argument("--strict-resources", action="store_true")
    parser.add_argument("--max-container-restart-period", type=float, default=0.0, help="seconds, 0 for 300")
    parser.add_argument("--no-node", action="store_true", help="no scheduler either: pods stay Pending")
    parser.add_argument(
        "--autoscaler-sync-period", type=float, default=15.0, help="seconds between two syncs of the horizontal pod autoscaler"
    )
    parser.add_argument("--images", type=Path, help="maps image names to environments")
    parser.add_argument("--strict-images", action="store_true", help="report ErrImagePull for unmapped images")
    parser.add_argument(
        "--reach", action="append", default=[], help="NAME:PORT=HOST:PORT: a service outside the pod network that pods can reach"
    )
    parser.add_argument("--warm", default="", help="modules that containers need not import again, with commas between them")
    parser.add_argument("--teardown", action="store_true", help="remove what a node left behind, then end")
    options = parser.parse_args(arguments)
    try:
        if options.teardown:
            from shunter.cluster.node.teardown import teardown

            teardown(StateDir(options.state_dir).node)
        else:
            run(options)
    except ShunterError as error:
        print(f"{error.message} {error.remedy}".strip(), file=sys.stderr)
        return error.exit_code
    return 0


def run(options: argparse.Namespace) -> None:
    """Runs until SIGTERM."""
    import uvloop

    logs.set_up()
    uvloop.run(serve(options))


async def serve(options: argparse.Namespace) -> None:
    """Controllers and, unless there is no node, scheduler and node, on one client."""
    from shunter.cluster import controllers
    from shunter.cluster.policy_types import controller as policy_types

    state = StateDir(options.state_dir)
    connection = kubeconfig.load(state.component_kubeconfig("agent"))
    async with connect(connection, component="shunter-agent") as client:
        manager = Manager(
            client,
            component="shunter-agent",
            health_probe_bind_address=options.health_probe_bind_address,
        )
        controllers.register_all(
            manager,
            client,
            authority=KeyPair((state.pki / "ca.crt").read_bytes(), (state.pki / "ca.key").read_bytes()),
            volumes=None if options.no_node else state.volumes,
            strict_resources=options.strict_resources,
        )
        policy_types.register(manager, client)
        if not options.no_node:
            controllers.register_scheduler(manager, strict_resources=options.strict_resources)
            controllers.register_autoscaler(manager, client, period=options.autoscaler_sync_period)
            add_node(manager, client, connection.address, state, options)
        await manager.run()


def add_node(manager: Manager, client: Client, api_server: tuple[str, int], state: StateDir, options: argparse.Namespace) -> None:
    """The node as a part of the process; /readyz waits for it."""
    from shunter.cluster.node.content.images import load_images
    from shunter.cluster.node.content.warm_start import module_names
    from shunter.cluster.node.net import external_services
    from shunter.cluster.node.node import Node
    from shunter.cluster.node.pod.lifecycle import MAX_BACK_OFF
    from shunter.cluster.node.runtime.protocol import HostPort, Level
    from shunter.cluster.node.server.access import CredentialGuard, KubeletAccess

    pki = state.pki
    access = KubeletAccess(
        serving=KeyPair((pki / "server.crt").read_bytes(), (pki / "server.key").read_bytes()),
        client_ca=(pki / "ca.crt").read_bytes(),
        guard=CredentialGuard(frozenset(msgspec.json.decode(state.tokens.read_bytes()))),
    )
    node = Node(
        client,
        name=NODE_NAME,
        api_server=HostPort(*api_server),
        directory=state.node,
        access=access,
        images=load_images(options.images, state.images, strict=options.strict_images),
        level=Level(options.level) if options.level else None,
        strict_resources=options.strict_resources,
        max_restart_period=options.max_container_restart_period or MAX_BACK_OFF,
        external_services=external_services.parsed(options.reach),
        warm_modules=module_names(options.warm),
    )
    manager.background("node", node.run)
    manager.add_ready_check("node", lambda: "" if node.ready.is_set() else "the node is not registered yet")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
