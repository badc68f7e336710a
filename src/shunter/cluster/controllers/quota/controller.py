"""I/O layer: looks at the quotas of each namespace each second, with the objects that they count as the server has them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from logging import getLogger

import msgspec

from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import RESOURCE_QUOTAS, Resource
from shunter.api.scheduling.quotas import count_name, counts, resource_of
from shunter.cluster.controllers.quota.plan import Observed, plan
from shunter.kube.cache.informer import Informer
from shunter.kube.client import Client
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.manager import Manager
from shunter.kube.discovery import Discovery, served_versions
from shunter.kube.errors import ApiError

log = getLogger(__name__)

COMPONENT = "resourcequota-controller"
PERIOD = 1.0
"""Seconds between two looks at a namespace."""
SHARE = 5
"""A look that takes long is followed by a pause of its namespace so many times as long."""
DISCOVERY_SECONDS = 30.0
"""How long the served resources are taken to be the same; as in kube-controller-manager."""


def register(manager: Manager, client: Client) -> None:
    """Adds the controller."""
    quotas = manager.informer(RESOURCE_QUOTAS, MetadataOnly)
    manager.background("resource-quotas", QuotaLoop(client, quotas, Executor(client, manager.recorder(COMPONENT))).run)


class QuotaLoop:
    """One look after the other. Without quotas nothing is asked."""

    def __init__(self, client: Client, quotas: Informer[MetadataOnly], executor: Executor) -> None:
        self._client = client
        self._quotas = quotas
        self._executor = executor
        self._discovery = Discovery(client)
        self._discovered = time.monotonic()

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._quotas.wait_synced()
        due: dict[str, float] = {}
        while True:
            namespaces = {one.metadata.namespace for one in self._quotas.store.list()}
            due = {namespace: due.get(namespace, 0.0) for namespace in namespaces}
            for namespace in sorted(namespaces):
                started = time.monotonic()
                if started < due[namespace]:
                    continue
                try:
                    await self._look(namespace)
                except ApiError as error:
                    log.warning("quotas of %s: %s", namespace, error.message)
                except Exception:
                    log.exception("internal error while reconciling the quotas of %s", namespace)
                due[namespace] = started + max(PERIOD, SHARE * (time.monotonic() - started))
            await asyncio.sleep(max(0.0, min(due.values(), default=0.0) - time.monotonic()) or PERIOD)

    async def _look(self, namespace: str) -> None:
        quotas = await self._list(RESOURCE_QUOTAS, namespace)
        names = {name for quota in quotas for name in quota["spec"].get("hard") or {}}
        objects = {resource: await self._list(resource, namespace) for resource in await self._counted(names)}
        for quota in quotas:
            await self._executor.execute(plan(Observed(quota=quota, objects=objects)))

    async def _counted(self, names: Iterable[str]) -> set[Resource]:
        """The resources that the names of quotas count."""
        found = {name: resource_of(name) for name in names}
        counted = {resource for resource in found.values() if resource is not None}
        unknown = {name for name, resource in found.items() if resource is None and name.startswith("count/")}
        if unknown and time.monotonic() - self._discovered > DISCOVERY_SECONDS:
            self._discovery, self._discovered = Discovery(self._client), time.monotonic()
        for version in sorted(await served_versions(self._client)) if unknown else ():
            counted |= {one for one in await self._discovery.resources(version) if counts(one) and count_name(one) in unknown}
        return counted

    async def _list(self, resource: Resource, namespace: str) -> list[Json]:
        body = await self._client.raw("GET", resource.path(namespace))
        items: list[Json] = msgspec.json.decode(body)["items"]
        return items
