"""Namespaces: what each gets when it comes (default ServiceAccount, the cluster's CA) and how it goes (contents first).

A namespace being deleted keeps the finalizer `kubernetes` in its spec until everything in it is gone; the API server creates
nothing in it any more.
"""

from __future__ import annotations

import asyncio
from logging import getLogger

import msgspec

from shunter.api.core import ConfigMap
from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Resource
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.removals import Removals
from shunter.cluster.controllers.served_kinds import served_kinds
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Create, Key, Patch, Plan, Ref, Write
from shunter.kube.errors import ApiError, NotFound

log = getLogger(__name__)

ROOT_CA = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal"
    " service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)
"""As kube-controller-manager writes it."""
DEFAULT_ACCOUNT = "default"
FINALIZER = "kubernetes"

FIRST_POLL = 0.05
LONGEST_POLL = 2.0
"""Seconds between looks at a namespace whose contents are going."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace, whether it has its default ServiceAccount, and the CA it holds (None without the ConfigMap)."""

    namespace: MetadataOnly
    has_account: bool = False
    root_ca: str | None = None


def plan(observed: Observed, root_ca: str) -> Plan:
    """What a living namespace lacks. An empty `root_ca` (PEM) publishes none."""
    metadata = observed.namespace.metadata
    if metadata.deletion_timestamp is not None:
        return NOTHING
    writes: list[Write] = []
    if root_ca and observed.root_ca is None:
        body = {**_named("v1", "ConfigMap", metadata.name, ROOT_CA), "data": {"ca.crt": root_ca}}
        body["metadata"]["annotations"] = {DESCRIPTION: ROOT_CA_DESCRIPTION}
        writes.append(Create(resource=CONFIG_MAPS, body=body))
    elif root_ca and observed.root_ca != root_ca:
        writes.append(Patch(ref=Ref(CONFIG_MAPS, metadata.name, ROOT_CA), patch={"data": {"ca.crt": root_ca}}))
    if not observed.has_account:
        # Last: pods are let in as soon as it is there, and then want the CA as well.
        writes.append(Create(resource=SERVICE_ACCOUNTS, body=_named("v1", "ServiceAccount", metadata.name, DEFAULT_ACCOUNT)))
    return Plan(writes=tuple(writes))


def register(manager: Manager, client: Client, *, root_ca: str) -> None:
    """Adds what namespaces get, and a background task that empties those being deleted."""
    namespaces = manager.informer(NAMESPACES, MetadataOnly)
    accounts = manager.informer(SERVICE_ACCOUNTS, MetadataOnly, field_selector=f"metadata.name={DEFAULT_ACCOUNT}")
    config_maps = manager.informer(CONFIG_MAPS, ConfigMap, field_selector=f"metadata.name={ROOT_CA}")

    def observe(key: Key) -> Observed | None:
        """The namespace, whether it has the ServiceAccount `default`, and the content of its ConfigMap kube-root-ca.crt."""
        namespace = namespaces.store.get(key)
        if namespace is None:
            return None
        config_map = config_maps.store.get(Key(key.name, ROOT_CA))
        return Observed(
            namespace=namespace,
            has_account=accounts.store.get(Key(key.name, DEFAULT_ACCOUNT)) is not None,
            root_ca=None if config_map is None else config_map.data.get("ca.crt", ""),
        )

    manager.controller(
        "namespaces",
        FunctionReconciler(observe, lambda observed, _: plan(observed, root_ca)),
        primary=namespaces,
        mapped=[(accounts, _to_namespace), (config_maps, _to_namespace)],
        workers=2,
    )
    remover = NamespaceRemover(client)
    namespaces.add_handler(remover.changed)
    manager.background("namespace-removal", remover.run)


class NamespaceRemover:
    """Empties namespaces that are being deleted, and lets them go. Looks at the server itself, not at caches: nothing may be
    left behind."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._removals = Removals()

    def changed(self, old: MetadataOnly | None, new: MetadataOnly | None) -> None:
        """For the informer of namespaces."""
        if new is None or new.metadata.deletion_timestamp is None or new.metadata.name in self._removals:
            return
        name = new.metadata.name
        self._removals.start(name, self._remove(name), f"removal of namespace {name}")

    async def run(self) -> None:
        """Waits to be cancelled, and then ends all removals."""
        await self._removals.run()

    async def _remove(self, name: str) -> None:
        wait = FIRST_POLL
        while True:
            try:
                if not await self._delete_contents(name) and await self._finalize(name):
                    return
            except ApiError as error:
                log.warning("removing namespace %s: %s", name, error.message)
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_POLL)

    async def _delete_contents(self, name: str) -> int:
        """Deletes everything that is not being deleted yet; how much is left."""
        left = 0
        for resource in await served_kinds(self._client, verbs=("list", "delete")):
            if not resource.namespaced:
                continue
            try:
                page = await self._client.list(resource, name, view=MetadataOnly)
            except NotFound:
                continue
            left += len(page.items)
            waiting = [obj for obj in page.items if obj.metadata.deletion_timestamp is None]
            await asyncio.gather(*(self._delete(resource, obj) for obj in waiting))
        return left

    async def _delete(self, resource: Resource, obj: MetadataOnly) -> None:
        try:
            await self._client.delete(
                resource, obj.metadata.name, obj.metadata.namespace, uid=obj.metadata.uid, propagation="Background"
            )
        except NotFound:
            return

    async def _finalize(self, name: str) -> bool:
        """Takes our finalizer off the empty namespace; whether it is done with."""
        try:
            namespace = await self._client.get(NAMESPACES, name)
        except NotFound:
            return True
        spec: Json = namespace.get("spec") or {}
        if "deletionTimestamp" not in namespace["metadata"]:
            return True
        spec["finalizers"] = [finalizer for finalizer in spec.get("finalizers") or [] if finalizer != FINALIZER]
        try:
            await self._client.update(NAMESPACES, {**namespace, "spec": spec}, subresource="finalize")
        except NotFound:
            return True
        return not namespace["metadata"].get("finalizers")


def _to_namespace(obj: MetadataOnly | ConfigMap) -> tuple[Key, ...]:
    return (Key("", obj.metadata.namespace),)


def _named(api_version: str, kind: str, namespace: str, name: str) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
