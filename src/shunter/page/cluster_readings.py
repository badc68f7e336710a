"""What the Cluster view reads besides its watches: the operator, Kueue's queues, the server's version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import DEPLOYMENTS, LEASES, VALIDATING_WEBHOOKS, Resource
from shunter.api.scheduling import kueue
from shunter.install.names import OPERATOR
from shunter.jobs.logs.visible_text import visible
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaseSpec, lease_holder
from shunter.kube.discovery import served_versions
from shunter.kube.errors import Forbidden, NotFound
from shunter.operator.webhook_names import VALIDATORS
from shunter.page.wire import QueueRow

OPERATOR_KINDS = (DEPLOYMENTS, LEASES, VALIDATING_WEBHOOKS)
"""The resources that `operator_state` lists."""
QUEUES = (
    Resource(kueue.GROUP, kueue.VERSIONS[0], "LocalQueue", "localqueues"),
    Resource(kueue.GROUP, kueue.VERSIONS[0], "ClusterQueue", "clusterqueues", namespaced=False),
)
"""The resources that `queue_rows` lists, in the version that is served."""


class OperatorState(NamedTuple):
    """Objects of Shunter's operator; None if they cannot be read."""

    deployments: list[Json] | None
    leases: list[Json] | None
    webhooks: list[Json] | None


async def server_version(client: Client) -> str:
    """`v1.36.0`; empty if the server does not return it. Raises ApiError."""
    try:
        return str(msgspec.json.decode(await client.raw("GET", "/version")).get("gitVersion", ""))
    except (Forbidden, NotFound):
        return ""


async def operator_state(client: Client) -> OperatorState:
    """Reads the operator's objects in all namespaces, as its own is unknown. Raises ApiError."""
    named = f"metadata.name={OPERATOR}"
    deployments, leases, webhooks = await asyncio.gather(
        _listed(client, DEPLOYMENTS, field_selector=named),
        _listed(client, LEASES, field_selector=named),
        _listed(client, VALIDATING_WEBHOOKS),
    )
    if webhooks is not None:
        webhooks = [one for one in webhooks if one["metadata"]["name"] in VALIDATORS]
    return OperatorState(deployments, leases, webhooks)


def operator_text(state: OperatorState, read: datetime, *, is_embedded: bool = False) -> str:
    """`2 of 2 replicas ready, leader shunter-operator-a, v0.3; webhooks registered`, at the time `read`. Pure. What cannot be
    read is left out. The operator of an embedded cluster is a process without Deployment and lease."""
    parts = ["a process of the embedded cluster"] if is_embedded else []
    if state.deployments:
        ready = sum(int((one.get("status") or {}).get("readyReplicas") or 0) for one in state.deployments)
        wanted = sum(int(one["spec"].get("replicas", 1)) for one in state.deployments)
        parts.append(f"{ready} of {wanted} replicas ready")
    for lease in state.leases or ():
        leader = lease_holder(msgspec.convert(lease.get("spec") or {}, LeaseSpec), read)
        parts.append(f"leader {leader}" if leader else "no leader")
    parts += sorted({f"v{version}" for one in state.deployments or () if (version := _version(one))})
    if not parts and state.deployments is not None and state.leases is not None:
        return "no operator of Shunter is installed in this cluster"
    text = ", ".join(parts)
    if state.webhooks is not None:
        text += f"{'; ' if text else ''}{'webhooks registered' if state.webhooks else 'no webhooks registered'}"
    return visible(text)


async def queue_rows(client: Client) -> list[QueueRow]:
    """The LocalQueues of Kueue; none if it is not installed. Raises ApiError."""
    version = kueue.newest_version(await served_versions(client))
    if version is None:
        return []
    local, whole = (one._replace(version=version) for one in QUEUES)
    queues, cluster_queues = await asyncio.gather(_listed(client, local), _listed(client, whole))
    by_name = {one["metadata"]["name"]: one for one in cluster_queues or ()}
    return [queue_row(one, by_name) for one in queues or ()]


def queue_row(queue: Json, cluster_queues: Mapping[str, Json]) -> QueueRow:
    """One LocalQueue with the quota of its ClusterQueue, `?` if that is unknown. Pure."""
    metadata, status = queue["metadata"], queue.get("status") or {}
    name = str((queue.get("spec") or {}).get("clusterQueue") or "")
    nominal = dict(_nominal(cluster_queues.get(name)))
    used = dict(_used(status))
    return QueueRow(
        id=metadata.get("uid") or f"{metadata['namespace']}/{metadata['name']}",
        namespace=metadata["namespace"],
        name=metadata["name"],
        cluster_queue=name,
        pending=int(status.get("pendingWorkloads") or 0),
        admitted=int(status.get("admittedWorkloads") or 0),
        usage=tuple((title, used.get(title, "0"), nominal.get(title, "?")) for title in sorted({*used, *nominal})),
    )


def _used(status: Json) -> Iterable[tuple[str, str]]:
    for flavor in status.get("flavorsUsage") or status.get("flavorUsage") or ():
        for one in flavor.get("resources") or ():
            yield f"{one['name']} ({flavor['name']})", str(one.get("total", "0"))


def _nominal(cluster_queue: Json | None) -> Iterable[tuple[str, str]]:
    for group in ((cluster_queue or {}).get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for one in flavor.get("resources") or ():
                yield f"{one['name']} ({flavor['name']})", str(one.get("nominalQuota", ""))


async def _listed(client: Client, resource: Resource, *, field_selector: str = "") -> list[Json] | None:
    """None if it may not be listed, or is not served. Raises ApiError."""
    try:
        return list((await client.list(resource, "", field_selector=field_selector)).items)
    except (Forbidden, NotFound):
        return None


def _version(deployment: Json) -> str:
    return str((deployment["metadata"].get("labels") or {}).get("app.kubernetes.io/version", ""))
