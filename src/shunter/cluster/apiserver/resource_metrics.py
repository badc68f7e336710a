"""The resource metrics API, metrics.k8s.io/v1beta1: what `kubectl top` and autoscalers read. Nothing of it is stored: nodes are
asked for their summaries.

Source: k8s.io/metrics `v1beta1`; answers as metrics-server gives them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from logging import getLogger
from typing import Any

import msgspec

from shunter.api.formats.quantity import canonical
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import NODES, PODS
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.discovery import METRICS
from shunter.cluster.apiserver.requests import Call, Target
from shunter.cluster.apiserver.selectors import Selector, field_terms, label_requirements
from shunter.cluster.apiserver.status import StatusError, method_not_allowed
from shunter.cluster.apiserver.storage.store import Entry
from shunter.cluster.apiserver.subresources.pod_logs import LogSource, NodeClient, node_address

log = getLogger(__name__)

_API_VERSION = f"{METRICS[0].group}/{METRICS[0].version}"
_KINDS = {virtual.plural: virtual.kind for virtual in METRICS}
_SELECTABLE = ("metadata.name", "metadata.namespace")


def serves(target: Target) -> bool:
    """Whether the target is one of these kinds."""
    return f"{target.group}/{target.version}" == _API_VERSION and target.plural in _KINDS and not target.subresource


async def answer(backend: Backend, call: Call, nodes: NodeClient) -> Json:
    """One object or a list. Raises 404, 405 and 400."""
    target = call.target
    if call.method != "GET" or call.verb == "watch":
        raise method_not_allowed()
    kind = _KINDS[target.plural]
    resource = NODES if target.plural == NODES.plural else PODS
    selection = Selector(
        label_requirements(call.query.get("labelSelector", "")),
        field_terms(call.query.get("fieldSelector", ""), _SELECTABLE),
    )
    entries = {
        (entry.namespace, entry.name): entry
        for entry in backend.store.collection("", resource.plural).entries(target.namespace)
        if (not target.name or entry.name == target.name) and selection.matches(entry)
    }
    summaries = await _summaries(backend, nodes)
    found = _nodes if resource == NODES else _pods
    now = rfc3339(backend.now())
    items = sorted(
        found(summaries, entries, now), key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"])
    )
    if not target.name:
        return {"kind": f"{kind}List", "apiVersion": _API_VERSION, "metadata": {}, "items": items}
    if not items:
        title = f"{target.namespace}/{target.name}" if target.namespace else target.name
        details = {"name": title, "group": METRICS[0].group, "kind": kind.lower()}
        raise StatusError(404, "NotFound", f'{kind.lower()}.{METRICS[0].group} "{title}" not found', details)
    return {"kind": kind, "apiVersion": _API_VERSION, **items[0]}


async def _summaries(backend: Backend, nodes: NodeClient) -> list[Json]:
    """What the nodes say; those that cannot be reached say nothing."""
    names = [entry.name for entry in backend.store.collection("", NODES.plural).entries()]
    return [summary for summary in await asyncio.gather(*(_summary(backend, nodes, name) for name in names)) if summary]


async def _summary(backend: Backend, nodes: NodeClient, name: str) -> Json:
    try:
        stream = await nodes.get(LogSource(f"https://{node_address(backend, name)}/stats/summary", {}))
        try:
            body = await stream.read()
        finally:
            stream.close()
        if stream.status != 200:
            raise StatusError(stream.status, "InternalError", body.decode(errors="replace").strip())
    except StatusError as error:
        log.warning("usage of node %s: %s", name, error)
        return {}
    summary: Json = msgspec.json.decode(body)
    return summary


def _pods(summaries: list[Json], entries: dict[tuple[str, str], Entry], now: str) -> Iterator[Json]:
    for pod in (pod for summary in summaries for pod in summary["pods"]):
        reference = pod["podRef"]
        entry = entries.get((reference["namespace"], reference["name"]))
        if entry is None or entry.uid != reference["uid"]:
            continue
        metadata: Json = {"name": entry.name, "namespace": entry.namespace, "creationTimestamp": now}
        containers = [{"name": container["name"], "usage": _usage(container)} for container in pod["containers"]]
        yield {**_item(metadata, entry, pod["containers"][0]), "containers": containers}


def _nodes(summaries: list[Json], entries: dict[tuple[str, str], Entry], now: str) -> Iterator[Json]:
    for node in (summary["node"] for summary in summaries):
        entry = entries.get(("", node["nodeName"]))
        if entry is not None and "cpu" in node:
            yield {**_item({"name": entry.name, "creationTimestamp": now}, entry, node), "usage": _usage(node)}


def _place(item: Json) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _item(metadata: Json, entry: Entry, measured: Json) -> Json:
    if entry.labels:
        metadata["labels"] = entry.labels
    return {"metadata": metadata, "timestamp": measured["cpu"]["time"], "window": f"{measured['cpu']['windowSeconds']:g}s"}


def _usage(measured: Json) -> dict[str, Any]:
    memory = -(-measured["memory"]["workingSetBytes"] // 1024)
    return {"cpu": canonical(f"{measured['cpu']['usageNanoCores']}n"), "memory": f"{memory}Ki"}
