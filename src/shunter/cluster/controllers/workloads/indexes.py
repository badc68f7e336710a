"""How controllers find pods: those that an object controls, and those that nothing controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from shunter.api.selectors import LabelSelector
from shunter.kube.cache.store import Index, Object, Store, by_controller_uid, key_of
from shunter.kube.controllers.plan import Key

CONTROLLER_UID = "controller-uid"
UNCONTROLLED = "uncontrolled"


class _Spec(Protocol):
    @property
    def selector(self) -> LabelSelector: ...


class Selecting(Object, Protocol):
    """An object that selects others by their labels."""

    @property
    def spec(self) -> _Spec:
        """The spec, of which only the selector is read."""


T = TypeVar("T", bound=Object)
S = TypeVar("S", bound=Selecting)


def by_namespace_if_uncontrolled(obj: Object) -> Iterable[str]:
    """The index of objects that nothing controls, by namespace: those that could be adopted."""
    return () if obj.metadata.controller else (obj.metadata.namespace,)


def adopters(obj: Object, owners: Store[S]) -> Iterable[Key]:
    """The owners whose selector matches an object that nothing controls."""
    if obj.metadata.controller is not None:
        return ()
    candidates = owners.list(obj.metadata.namespace)
    return [key_of(one) for one in candidates if one.spec.selector.matches(obj.metadata.labels)]


OWNER_INDEXES: Mapping[str, Index[Object]] = {CONTROLLER_UID: by_controller_uid, UNCONTROLLED: by_namespace_if_uncontrolled}


def controlled_or_free(objects: Store[T], owner_uid: str, namespace: str) -> tuple[T, ...]:
    """The objects that the owner controls, then those of the namespace without a controller. The store has OWNER_INDEXES."""
    return (*objects.by_index(CONTROLLER_UID, owner_uid), *objects.by_index(UNCONTROLLED, namespace))
