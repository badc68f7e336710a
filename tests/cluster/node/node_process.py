"""A node in a process of its own, for tests that kill it: `python node_process.py KUBECONFIG PKI NAME DIRECTORY LEVEL`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shunter.cluster.node.content.images import Images
from shunter.cluster.node.node import Node
from shunter.cluster.node.runtime.protocol import HostPort, Level
from shunter.cluster.node.server.access import CredentialGuard, KubeletAccess
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.kube.tls.certificates import KeyPair, issue


async def main(config: str, pki: str, name: str, directory: str, level: str) -> None:
    authority = KeyPair((Path(pki) / "ca.crt").read_bytes(), (Path(pki) / "ca.key").read_bytes())
    connection = kubeconfig.load(Path(config))
    async with connect(connection) as client:
        access = KubeletAccess(issue(authority, name, ["127.0.0.1"]), authority.certificate, CredentialGuard())
        forced = Level(level) if level else None
        node = Node(
            client,
            name=name,
            api_server=HostPort(*connection.address),
            directory=Path(directory),
            access=access,
            images=Images(),
            level=forced,
        )
        await node.run()


asyncio.run(main(*sys.argv[1:]))
