"""Namespaces of the embedded cluster: one that is named is created; elsewhere that is for a cluster's administrators."""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.resources import NAMESPACES
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists


async def ensure_namespace(client: Client, name: str, tell: Callable[[str], None]) -> None:
    """Creates the namespace unless it exists; `tell` gets a sentence if it is created."""
    try:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        tell(f"created namespace {name}")
    except AlreadyExists:
        return
