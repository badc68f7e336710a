"""I/O layer of garbage collection: a metadata informer for every kind served, and one controller over the graph they make.

Kinds come and go with their CRDs. Informers of different kinds do not keep step: an owner that none of them has is asked for, and
so is an object that its owners left behind, before it is deleted: they may have let go of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from logging import getLogger
from typing import Any

from shunter.api.meta import MetadataOnly
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from shunter.cluster.controllers.garbage.graph import Graph
from shunter.cluster.controllers.garbage.plan import FOREGROUND, Member, Observed, plan
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.served_kinds import NOT_COLLECTED, served_kinds
from shunter.kube.cache.expectations import Expectations
from shunter.kube.cache.informer import Informer
from shunter.kube.cache.store import Store
from shunter.kube.client import Client
from shunter.kube.controllers.controller import Controller
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.plan import Delete, Key, Ref
from shunter.kube.errors import ApiError, NotFound

log = getLogger(__name__)

DISCOVERY_SECONDS = 30.0
"""How often served kinds are looked up when no CRD changes."""

WORKERS = 8

SETTLE_SECONDS = 0.2
"""After a CRD changed: several usually come together, and are served a moment later."""

RETRY_SECONDS = 0.5


class GarbageCollector:
    """Runs beside the manager's controllers, since kinds are added to it while it runs. As a reconciler its keys are uids."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._graph = Graph()
        self._stores: dict[Resource, Store[Any]] = {}
        self._informers: dict[Resource, tuple[Informer[MetadataOnly], asyncio.Task[None]]] = {}
        self._verifying: set[asyncio.Task[None]] = set()
        self._confirmed: dict[Key, Member] = {}
        """Objects that the server was asked for just now, and that name the owners that they are known to have."""
        self._look_again = asyncio.Event()
        self._controller = Controller(
            "garbage-collector",
            FunctionReconciler(self._observe, lambda observed, _: plan(observed)),
            Executor(client),
            Expectations(self._stores),
            workers=WORKERS,
        )

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            await self._follow(group)
            for informer, _ in [*self._informers.values()]:
                await informer.wait_synced()
            group.create_task(self._controller.run())
            while True:
                try:
                    await asyncio.wait_for(self._look_again.wait(), DISCOVERY_SECONDS)
                    await asyncio.sleep(SETTLE_SECONDS)
                except TimeoutError:
                    pass
                self._look_again.clear()
                await self._follow(group)

    def _observe(self, key: Key) -> Observed | None:
        """The object with this uid. None where no rule concerns it, and as long as kinds have to be read or the server has to be
        asked, for its owners or before it is deleted: then the key comes back."""
        seen = self._graph.observe(key.name)
        if isinstance(seen, list):
            self._verify(self._verified(key, seen))
            return None
        if seen is not None and FOREGROUND in seen.member.metadata.finalizers and not self._is_complete():
            self._controller.queue.add_after(key, RETRY_SECONDS)
            return None
        is_confirmed = seen is not None and self._confirmed.pop(key, None) == seen.member
        if seen is not None and not is_confirmed and any(isinstance(write, Delete) for write in plan(seen).writes):
            self._verify(self._confirm(key, seen.member))
            return None
        return seen

    def _is_complete(self) -> bool:
        """Whether every kind has been read: an object may wait for dependents of any of them."""
        return all(informer.is_synced or informer.problem for informer, _ in self._informers.values())

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        """Starts informers of new kinds, and stops those of kinds that are no more."""
        try:
            kinds = await served_kinds(self._client, verbs=("list", "watch", "delete"))
        except ApiError as error:
            log.warning("looking up the kinds the server serves: %s", error.message)
            return
        desired = {kind for kind in kinds if (kind.group, kind.kind) not in NOT_COLLECTED}
        for resource in [resource for resource in self._informers if resource not in desired]:
            self._informers.pop(resource)[1].cancel()
            self._stores.pop(resource)
            self._graph.retire(resource)
        for resource in desired - self._informers.keys():
            informer = Informer(self._client, resource, MetadataOnly)
            informer.add_handler(partial(self._changed, resource))
            self._stores[resource] = informer.store
            self._informers[resource] = (informer, group.create_task(informer.run()))
            self._add(self._graph.serve(resource))

    def _changed(self, resource: Resource, old: MetadataOnly | None, new: MetadataOnly | None) -> None:
        self._add(self._graph.changed(resource, old, new))
        if resource == CUSTOM_RESOURCE_DEFINITIONS:
            self._look_again.set()

    def _add(self, uids: set[str] | list[str]) -> None:
        for uid in uids:
            self._controller.add(Key("", uid))

    def _verify(self, question: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(question)
        self._verifying.add(task)
        task.add_done_callback(self._verifying.discard)

    async def _confirm(self, key: Key, member: Member) -> None:
        """Asks the server whether the object has the owners that are known; it is looked at again when it has."""
        ref = member.ref
        wait = 0.0
        try:
            found = await self._client.get(ref.resource, ref.name, ref.namespace, view=MetadataOnly)
        except NotFound:
            return
        except ApiError as error:
            log.warning("asking for %s %s: %s", ref.resource.kind, ref.name, error.message)
            wait = RETRY_SECONDS
        else:
            if (found.metadata.uid, found.metadata.owner_references) == (ref.uid, member.metadata.owner_references):
                self._confirmed[key] = member
            else:
                wait = RETRY_SECONDS
        self._controller.queue.add_after(key, wait)

    async def _verified(self, key: Key, owners: list[Ref]) -> None:
        """Asks the server for the owners; the object is looked at again when that is known."""
        wait = 0.0
        for ref in owners:
            try:
                found = await self._client.get(ref.resource, ref.name, ref.namespace, view=MetadataOnly)
            except NotFound:
                self._graph.absent(ref)
            except ApiError as error:
                log.warning("asking for owner %s %s: %s", ref.resource.kind, ref.name, error.message)
                wait = RETRY_SECONDS
            else:
                if found.metadata.uid == ref.uid:
                    wait = RETRY_SECONDS
                else:
                    self._graph.absent(ref)
        self._controller.queue.add_after(key, wait)
