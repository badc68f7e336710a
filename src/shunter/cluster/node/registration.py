"""The Node object and its heartbeat. `node_body` and `node_status` are pure.

Source: kubelet 1.36: a Lease in kube-node-lease renewed every 10 s says that the node lives; the status is looked at as often,
and written when it is not as it should be, or 5 minutes old.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from logging import getLogger
from typing import NamedTuple

from shunter import __version__
from shunter.api.formats import quantity
from shunter.api.formats.times import moment
from shunter.api.meta import Json, rfc3339, rfc3339_micro
from shunter.api.resources import LEASES, NODES
from shunter.cluster import enforced_policies
from shunter.cluster.node.resources import Capacity, written
from shunter.cluster.node.runtime.levels import Finding
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, NotFound

log = getLogger(__name__)

LEVEL_ANNOTATION = "shunter.dev/level"
REASON_ANNOTATION = "shunter.dev/level-reason"
PROCESS_NODE = enforced_policies.PROCESS_NODE
"""Label of every node of ours, and key of the taint of those that join the cluster of others."""
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
STATUS_SECONDS = 300.0
_RETRY_SECONDS = 1.0


class Description(NamedTuple):
    """The data of the Node object."""

    name: str
    address: str
    port: int
    finding: Finding
    capacity: Capacity
    allocatable: Capacity
    """What the scheduler may give to pods; it may be more than there is."""
    tainted: bool = False
    """Whether the node has the taint: only pods that tolerate it run here."""
    policy_obstacle: str = ""
    """Why NetworkPolicies have no effect; empty when they have."""
    disk_shortage: str = ""
    """The message about a nearly full disk; a node controller then keeps new pods away."""


def node_body(description: Description) -> Json:
    """The Node as it is created; labels are those that kubelet sets."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    annotations = {
        LEVEL_ANNOTATION: description.finding.level.value,
        enforced_policies.ANNOTATION: description.policy_obstacle or enforced_policies.ENFORCED,
    }
    if description.finding.reason:
        annotations[REASON_ANNOTATION] = description.finding.reason
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": description.name,
            "labels": {
                "kubernetes.io/hostname": description.name,
                "kubernetes.io/os": platform.system().lower(),
                "kubernetes.io/arch": machine,
                PROCESS_NODE: "true",
            },
            "annotations": annotations,
        },
        "spec": {"taints": [{"key": PROCESS_NODE, "effect": "NoSchedule"}]} if description.tainted else {},
    }


def refusal(spec: Json) -> str:
    """Why a pod of this spec does not run on a node with our taint; empty when it does. The scheduler sends those that tolerate
    every taint, too: agents of other nodes (DaemonSets), which are not meant to run as processes of this machine."""
    if any(toleration.get("key") == PROCESS_NODE for toleration in spec.get("tolerations") or ()):
        return ""
    return (
        f"this node runs pods as processes of a machine, and accepts only pods with a toleration of "
        f"{PROCESS_NODE}; keep other pods away by a node affinity with {PROCESS_NODE} DoesNotExist"
    )


def node_status(description: Description, before: Json, now: datetime) -> Json:
    """The Node's status; conditions keep the time they last changed."""
    old = {one["type"]: one for one in before.get("conditions") or ()}
    disk = ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
    if description.disk_shortage:
        disk = ("DiskPressure", "True", "KubeletHasDiskPressure", f"kubelet has disk pressure: {description.disk_shortage}")
    wanted = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        disk,
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", f"shunter runs pods at level {description.finding.level.value}"),
    )
    conditions = [
        {
            "type": type,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": rfc3339(now),
            "lastTransitionTime": old[type]["lastTransitionTime"] if old.get(type, {}).get("status") == status else rfc3339(now),
        }
        for type, status, reason, message in wanted
    ]
    # What others say of the node, e.g. a problem detector, is theirs to change.
    conditions += [one for one in old.values() if one["type"] not in {type for type, *_ in wanted}]
    return {
        # No Hostname: API servers prefer it, and a node's name need not resolve where they run.
        "addresses": [{"type": "InternalIP", "address": description.address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": description.port}},
        "capacity": written(description.capacity),
        "allocatable": written(description.allocatable),
        "conditions": conditions,
        "nodeInfo": {
            "architecture": node_body(description)["metadata"]["labels"]["kubernetes.io/arch"],
            "bootID": _first_line("/proc/sys/kernel/random/boot_id"),
            "containerRuntimeVersion": f"shunter://{__version__}",
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": f"v1.36.0+shunter-{__version__}",
            "machineID": _first_line("/etc/machine-id"),
            "operatingSystem": platform.system().lower(),
            "osImage": _os_name(),
            "systemUUID": _first_line("/etc/machine-id"),
        },
    }


async def register(client: Client, description: Description) -> str:
    """Creates the Node or brings it up to date; returns its uid. Taints are only set on a new one: administrators may
    have changed them since. Raises ApiError."""
    body = node_body(description)
    try:
        current = await client.create(NODES, body, view=dict)
    except AlreadyExists:
        patch = {"metadata": {key: body["metadata"][key] for key in ("labels", "annotations")}}
        # An annotation of an earlier level must not stay.
        patch["metadata"]["annotations"] = {REASON_ANNOTATION: None, **patch["metadata"]["annotations"]}
        current = await client.patch(NODES, description.name, "", patch, view=dict)
    await _write_status(client, description, current.get("status") or {})
    return str(current["metadata"]["uid"])


async def keep_alive(client: Client, description: Description, uid: str, disk_shortage: Callable[[], str] = lambda: "") -> None:
    """Renews the lease and, when it is old or not as it should be, the status. Never returns; registers again when the
    Node was deleted."""
    while True:
        description = description._replace(disk_shortage=disk_shortage())
        try:
            await _renew(client, description.name, uid)
            current = await client.get(NODES, description.name, view=dict, resource_version="0")
            if is_outdated(description, current.get("status") or {}, datetime.now(UTC)):
                await _write_status(client, description, current.get("status") or {})
        except NotFound:
            uid = await _registered_again(client, description) or uid
        except ApiError as error:
            log.warning("Node %s: no heartbeat: %s", description.name, error.message)
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        await asyncio.sleep(RENEW_SECONDS)


def is_outdated(description: Description, status: Json, now: datetime) -> bool:
    """Whether the status on the server is older than it may be, or says something else than we do: a node whose lease ran out
    has been declared unreachable, and only the node itself can say that it is back."""
    wanted = node_status(description, status, now)
    if any(status.get(part) != wanted[part] for part in ("addresses", "daemonEndpoints")):
        return True
    # The server writes quantities in a form of its own.
    if any(_amounts(status.get(part) or {}) != _amounts(wanted[part]) for part in ("capacity", "allocatable")):
        return True
    before = {one["type"]: one for one in status.get("conditions") or ()}
    for condition in wanted["conditions"]:
        old = before.get(condition["type"])
        if old is None or any(old.get(part) != condition[part] for part in ("status", "reason", "message")):
            return True
    heartbeat = moment(before["Ready"]["lastHeartbeatTime"])
    return (now - heartbeat).total_seconds() >= STATUS_SECONDS


def _amounts(written_amounts: Json) -> dict[str, Fraction]:
    return {name: quantity.parse(amount) for name, amount in written_amounts.items()}


async def _registered_again(client: Client, description: Description) -> str:
    """The uid of the new Node; empty when there is none."""
    try:
        return await register(client, description)
    except ApiError as error:
        log.warning("Node %s could not be registered again: %s", description.name, error.message)
        return ""


async def _write_status(client: Client, description: Description, before: Json) -> None:
    status = node_status(description, before, datetime.now(UTC))
    await client.patch_status(NODES, description.name, "", {"status": status})


async def _renew(client: Client, name: str, uid: str) -> None:
    """Renews the lease, which belongs to the Node and goes with it. NotFound when the Node is not there (any more)."""
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": rfc3339_micro(datetime.now(UTC)),
    }
    owners = [NODES.typed({"name": name, "uid": uid})]
    try:
        await client.patch(LEASES, name, LEASE_NAMESPACE, {"metadata": {"ownerReferences": owners}, "spec": spec})
    except NotFound:
        await client.get(NODES, name, view=dict)
        metadata = {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": owners}
        body = LEASES.typed({"metadata": metadata, "spec": spec})
        await client.create(LEASES, body)


def _first_line(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.readline().strip()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
