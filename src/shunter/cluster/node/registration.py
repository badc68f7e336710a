"""The Node object and its heartbeat. `node_body` and `node_status` are pure.

Source: kubelet 1.36: a Lease in kube-node-lease renewed every 10 s says that the node lives; the status is written at start and
every 5 minutes.
"""

from __future__ import annotations

import asyncio
import os
import platform
from datetime import UTC, datetime
from logging import getLogger
from typing import NamedTuple

from shunter import __version__
from shunter.api.meta import Json, rfc3339, rfc3339_micro
from shunter.api.resources import LEASES, NODES
from shunter.cluster.node.levels import Finding
from shunter.cluster.node.resources import Capacity, written
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, NotFound

log = getLogger(__name__)

LEVEL_ANNOTATION = "shunter.dev/level"
REASON_ANNOTATION = "shunter.dev/level-reason"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
STATUS_SECONDS = 300.0
_RETRY_SECONDS = 1.0


class Description(NamedTuple):
    """What a node says of itself."""

    name: str
    address: str
    port: int
    finding: Finding
    capacity: Capacity


def node_body(description: Description) -> Json:
    """The Node as it is created; labels are those that kubelet sets."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    annotations = {LEVEL_ANNOTATION: description.finding.level.value}
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
            },
            "annotations": annotations,
        },
        "spec": {},
    }


def node_status(description: Description, before: Json, now: datetime) -> Json:
    """The Node's status; conditions keep the time they last changed."""
    old = {one["type"]: one for one in before.get("conditions") or ()}
    wanted = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
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
    return {
        "addresses": [
            {"type": "InternalIP", "address": description.address},
            {"type": "Hostname", "address": description.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": description.port}},
        "capacity": written(description.capacity),
        "allocatable": written(description.capacity),
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


async def register(client: Client, description: Description) -> None:
    """Creates the Node or brings it up to date. Raises ApiError."""
    body = node_body(description)
    try:
        current = await client.create(NODES, body, view=dict)
    except AlreadyExists:
        patch = {"metadata": {key: body["metadata"][key] for key in ("labels", "annotations")}}
        # An annotation of an earlier level must not stay.
        patch["metadata"]["annotations"] = {REASON_ANNOTATION: None, **patch["metadata"]["annotations"]}
        current = await client.patch(NODES, description.name, "", patch, view=dict)
    await _write_status(client, description, current.get("status") or {})


async def keep_alive(client: Client, description: Description) -> None:
    """Renews the lease and, less often, the status. Never returns; registers again when somebody deleted the Node."""
    last_status = asyncio.get_running_loop().time()
    while True:
        try:
            await _renew(client, description.name)
            if asyncio.get_running_loop().time() - last_status >= STATUS_SECONDS:
                current = await client.get(NODES, description.name, view=dict)
                await _write_status(client, description, current.get("status") or {})
                last_status = asyncio.get_running_loop().time()
        except NotFound:
            await _register_again(client, description)
        except ApiError as error:
            log.warning("Node %s: no heartbeat: %s", description.name, error.message)
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        await asyncio.sleep(RENEW_SECONDS)


async def _register_again(client: Client, description: Description) -> None:
    try:
        await register(client, description)
    except ApiError as error:
        log.warning("Node %s could not be registered again: %s", description.name, error.message)


async def _write_status(client: Client, description: Description, before: Json) -> None:
    status = node_status(description, before, datetime.now(UTC))
    await client.patch_status(NODES, description.name, "", {"status": status})


async def _renew(client: Client, name: str) -> None:
    now = rfc3339_micro(datetime.now(UTC))
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
    try:
        await client.patch(LEASES, name, LEASE_NAMESPACE, {"spec": spec})
    except NotFound:
        metadata = {"name": name, "namespace": LEASE_NAMESPACE}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        try:
            await client.create(LEASES, body)
        except NotFound as error:
            log.debug("Namespace %s is not there yet: %s", LEASE_NAMESPACE, error.message)


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
