"""Read your own writes: a key is not reconciled again before the stores have seen what its last reconcile wrote.

Otherwise a reconcile would act on a past that it has changed itself, e.g. create a pod twice under generated names or count a
restart twice. resourceVersions are comparable numbers within one resource (KEP-5504), so "seen" is a comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from shunter.api.resources import Resource
from shunter.kube.cache.store import Store, revision
from shunter.kube.controllers.plan import Key

TIMEOUT = 30.0
"""Seconds after which a key is reconciled anyway: the object may lie outside what the informer watches."""


class CompletedWrite(NamedTuple):
    """One write that the server carried out. `resource_version` is empty for a deletion."""

    resource: Resource
    key: Key
    uid: str
    resource_version: str = ""
    is_released: bool = False
    """The write left an object that is being deleted without finalizers. When it took the last one, the object is gone, and the
    answer has the version from before."""


class _Expected(NamedTuple):
    until: float
    writes: list[CompletedWrite]


class Expectations:
    """What each key's last reconcile wrote, until `stores` have seen it; resources without a store are not waited for."""

    def __init__(
        self,
        stores: Mapping[Resource, Store[Any]],
        *,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores = stores
        self._timeout = timeout
        self._clock = clock
        self._expected: dict[Key, _Expected] = {}

    def expect(self, key: Key, written: Iterable[CompletedWrite]) -> None:
        """Adds what a reconcile of `key` wrote."""
        writes = [write for write in written if not self._is_observed(write)]
        if not writes:
            return
        before = self._expected.get(key)
        self._expected[key] = _Expected(self._clock() + self._timeout, [*(before.writes if before else ()), *writes])

    def seconds_left(self, key: Key) -> float:
        """0 when everything written for `key` has been seen, or waited for long enough; else how long to wait at most."""
        expected = self._expected.get(key)
        if expected is None:
            return 0.0
        unobserved = [write for write in expected.writes if not self._is_observed(write)]
        left = expected.until - self._clock()
        if not unobserved or left <= 0:
            del self._expected[key]
            return 0.0
        self._expected[key] = _Expected(expected.until, unobserved)
        return left

    def forget(self, key: Key) -> None:
        """The key's object is gone; so is the interest in what was written for it."""
        self._expected.pop(key, None)

    def _is_observed(self, write: CompletedWrite) -> bool:
        store = self._stores.get(write.resource)
        if store is None:
            return True
        obj = store.get(write.key)
        if obj is not None and obj.metadata.uid != write.uid:
            obj = None
        if not write.resource_version:
            return obj is None or obj.metadata.deletion_timestamp is not None
        if write.is_released and obj is not None and obj.metadata.finalizers:
            return False
        return store.has_observed(write.key.namespace, revision(write.resource_version))
