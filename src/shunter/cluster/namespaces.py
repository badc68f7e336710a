"""Namespaces of the embedded cluster: one that is named is created; elsewhere that is for a cluster's administrators."""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.names import label_faults
from shunter.api.resources import NAMESPACES
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists


def require_namespace_name(name: str) -> None:
    """InputError for what no namespace can be called."""
    if label_faults(name):
        raise InputError(f"namespace {name!r}: at most 63 lower case letters, digits and '-' only, as in team-a.")


async def ensure_namespace(client: Client, name: str, notify: Callable[[str], None]) -> None:
    """Creates the namespace unless it exists; `notify` gets a message if it is created. InputError for an invalid
    name."""
    require_namespace_name(name)
    try:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        notify(f"created namespace {name}")
    except AlreadyExists:
        return
