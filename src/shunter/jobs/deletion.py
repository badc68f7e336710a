"""Deletes a job with everything that belongs to it."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.client import Client


async def request_deletion(client: Client, resource: Resource, job: Json, *, resource_version: str = "") -> None:
    """Asks for the deletion, which goes on in the cluster: the job is there until its pods have ended (foreground). NotFound when
    it was gone before; Conflict when the name belongs to another job, or to another version than `resource_version`."""
    metadata = job["metadata"]
    await client.delete(
        resource,
        metadata["name"],
        metadata["namespace"],
        uid=metadata["uid"],
        resource_version=resource_version,
        propagation="Foreground",
    )
