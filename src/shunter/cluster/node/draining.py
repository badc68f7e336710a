"""Emptying a node for good: no new pods, every pod evicted as its disruption budgets allow, then no Node.

What `kubectl drain` and `kubectl delete node` do, in one step. Pods of DaemonSets are left to go with the Node: they would only
come back. So are finished pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from logging import getLogger

from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.api.resources import NODES, PODS
from shunter.kube.client import Client
from shunter.kube.errors import Conflict, Forbidden, NotFound, TooManyRequests

log = getLogger(__name__)

LOOK_SECONDS = 1.0
ASK_AGAIN_SECONDS = 5.0
"""How long a disruption budget is left alone after it said no, as in kubectl."""


async def drain(client: Client, node: str) -> None:
    """Returns when no pod of the node runs any more, however long that takes. Raises ApiError."""
    await client.patch(NODES, node, "", {"spec": {"unschedulable": True}})
    log.info("Node %s is cordoned", node)
    ask_again: dict[str, float] = {}
    clock = asyncio.get_running_loop().time
    while pods := to_evict((await client.list(PODS, view=Pod, field_selector=f"spec.nodeName={node}")).items):
        due = [pod for pod in pods if not pod.metadata.deletion_timestamp and clock() >= ask_again.get(pod.metadata.uid, 0.0)]
        await asyncio.gather(*(_evict(client, pod) for pod in due))
        ask_again |= {pod.metadata.uid: clock() + ASK_AGAIN_SECONDS for pod in due}
        await asyncio.sleep(LOOK_SECONDS)


async def remove_node(client: Client, node: str) -> None:
    """Deletes the Node; its Lease goes with it. Credentials of a node may not do that: then the Node stays, and takes no pods."""
    try:
        await client.delete(NODES, node)
    except NotFound:
        return
    except Forbidden as error:
        log.warning("Node %s is empty but stays: %s. Remove it with: kubectl delete node %s", node, error.message, node)


def to_evict(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that have to go before the node may."""
    return [pod for pod in pods if not pod.is_finished and not _is_of_daemon_set(pod)]


def eviction(pod: Pod) -> Json:
    """The request to evict this very pod."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.metadata.uid}},
    }


async def _evict(client: Client, pod: Pod) -> None:
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    try:
        await client.create(PODS, eviction(pod), subresource="eviction", name=pod.metadata.name)
    except (NotFound, Conflict):
        return  # it is gone, or another has its name
    except TooManyRequests as error:
        log.info("Pod %s cannot be evicted yet: %s", where, error.message)
    else:
        log.info("Pod %s is evicted", where)


def _is_of_daemon_set(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "DaemonSet"
