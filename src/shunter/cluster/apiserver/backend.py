"""What every request works on: the store, the served kinds, admission webhooks, and the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, Resource
from shunter.cluster.apiserver.registry import Registry, ServedKind
from shunter.cluster.apiserver.status import StatusError, forbidden, not_found, plain
from shunter.cluster.apiserver.storage.disk_room import StorageRoom
from shunter.cluster.apiserver.storage.store import Collection, Entry, ObjectTooLargeError, Store

if TYPE_CHECKING:
    from shunter.cluster.apiserver.admission.webhooks import Webhooks
    from shunter.cluster.apiserver.auth.authz import Authorizer

ETCD_LIMIT = 3 * 2**19
"""Bytes of a request to etcd; custom objects are in it as JSON, others in a form that is shorter."""


def size_limit(previous: Entry | None) -> int | None:
    """The maximum size in bytes of an object that replaces `previous` (None: a new object); None: unlimited, if `previous`
    already exceeds the limit, so that its finalizers can be removed."""
    return ETCD_LIMIT if previous is None or len(previous.tail) <= ETCD_LIMIT else None


def utc_now() -> datetime:
    """An aware time, in UTC; what `Backend.now` gives unless it is replaced."""
    return datetime.now(UTC)


class StoredObjects:
    """The objects as built-in admission sees them: the newest versions, whether their commit is through or not."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        """None where it is not there, or its deletion has been accepted. Without kind and apiVersion; callers share it."""
        entry = self._store.collection(resource.group, resource.plural).head(namespace, name)
        return _document(entry) if entry else None

    def all(self, resource: Resource, namespace: str = "") -> Iterable[Json]:
        """In no order, of all namespaces without a `namespace`. Without kind and apiVersion; callers share the objects."""
        for entry in self._store.collection(resource.group, resource.plural).heads():
            if namespace in ("", entry.namespace):
                yield _document(entry)


@lru_cache(maxsize=128)
def _document(entry: Entry) -> Json:
    """Admission asks for the same few objects again and again: classes, quotas, runtimes."""
    return entry.document()


@dataclass(slots=True, kw_only=True)
class Backend:
    """One running API server's state."""

    store: Store
    registry: Registry
    objects: StoredObjects
    webhooks: Webhooks
    authorizer: Authorizer
    room: StorageRoom
    disabled_plugins: frozenset[str] = frozenset()
    """Built-in admission that is switched off, by the names of kube-apiserver's plugins."""
    now: Callable[[], datetime] = utc_now

    def collection(self, served: ServedKind) -> Collection:
        """Where the objects of the kind are stored; all versions of a kind have one, and so do both groups of events."""
        return self.store.collection(*served.key)

    def entry(self, served: ServedKind, namespace: str, name: str) -> Entry:
        """The committed object. Raises 404."""
        entry = self.collection(served).get(namespace, name)
        if entry is None:
            raise not_found(served.resource, name)
        return entry

    async def write(self, served: ServedKind, document: Json, previous: Entry | None) -> Entry:
        """Stores a document of the kind over `previous`, None for a new object.

        Raises StaleError, and 500 for an object of a custom kind that etcd would not take.
        """
        stored, limit = served.stored(document), size_limit(previous) if served.custom else None
        try:
            return await self.store.write(
                self.collection(served), stored, previous=previous, durable=served.kind.durable, limit=limit
            )
        except ObjectTooLargeError:
            raise plain(500, "etcdserver: request is too large") from None

    def refuse_without_namespace(self, served: ServedKind, namespace: str, name: str) -> StatusError | None:
        """Nothing is created in a namespace that is missing or on its way out; source: NamespaceLifecycle admission."""
        entry = self.store.collection("", NAMESPACES.plural).head("", namespace)
        if entry is None:
            return not_found(NAMESPACES, namespace)
        if entry.field("metadata.deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            return forbidden(served.resource, name, why, [cause])
        return None
