"""The process beside the API server: Job, JobSet, garbage and namespace controllers, the scheduler, and the node.

    python -m shunter.cluster.agent --state-dir DIR [--simulate] [--strict-resources] [--level LEVEL] [--images FILE]
    python -m shunter.cluster.agent --state-dir DIR --teardown

Talks to the API server only over HTTP, with its own credentials. Killed at any time, its pods run on and the next agent
adopts them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from shunter.cluster.state_dir import StateDir
from shunter.errors import ShunterError
from shunter.kube import kubeconfig, logs
from shunter.kube.client import connect
from shunter.kube.manager import Manager

NODE_NAME = "shunter"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="shunter-agent", description="Controllers, scheduler and node of an embedded cluster.")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--health-probe-bind-address", default="0")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--strict-resources", action="store_true")
    parser.add_argument("--no-node", action="store_true")
    parser.add_argument("--level", default="")
    parser.add_argument("--images", type=Path)
    parser.add_argument("--teardown", action="store_true")
    options = parser.parse_args(arguments)
    logs.configure()
    try:
        if options.teardown:
            from shunter.cluster.node.node import teardown

            teardown(StateDir(options.state_dir).node)
        else:
            run(options)
    except ShunterError as error:
        print(f"{error.message} {error.remedy}".strip(), file=sys.stderr)
        return error.exit_code
    return 0


def run(options: argparse.Namespace) -> None:
    """Runs until SIGTERM, on uvloop where there is one."""
    try:
        from uvloop import run as run_loop
    except ImportError:
        run_loop = asyncio.run
    run_loop(serve(options))


async def serve(options: argparse.Namespace) -> None:
    from shunter.cluster.controllers import register_all

    state = StateDir(options.state_dir)
    async with connect(kubeconfig.load(state.component_kubeconfig("agent")), component="shunter-agent") as client:
        manager = Manager(
            client,
            component="shunter-agent",
            health_probe_bind_address=options.health_probe_bind_address,
        )
        register_all(manager, client, strict_resources=options.strict_resources)
        await manager.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
