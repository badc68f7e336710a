"""Which objects a controller owns: those that it controls and selects. It adopts orphans that it selects, and releases what it no
longer selects.

Source: k8s.io/kubernetes 1.36 `pkg/controller/controller_ref_manager.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import msgspec

from shunter.api.meta import Json, ObjectMeta, controller_reference
from shunter.api.resources import Resource
from shunter.api.selectors import LabelSelector
from shunter.kube.cache.store import Object
from shunter.kube.controllers.plan import Patch, Ref

T = TypeVar("T", bound=Object)


class Owner(NamedTuple):
    """A controller's object, as owner of others."""

    resource: Resource
    metadata: ObjectMeta

    @property
    def ref(self) -> Ref:
        """What writes and events about the object itself name."""
        return Ref.of(self.resource, self.metadata)

    @property
    def reference(self) -> Json:
        """The controller reference that its objects carry; it blocks the owner's foreground deletion."""
        return controller_reference(self.resource.api_version, self.resource.kind, self.metadata.name, self.metadata.uid)

    def controls(self, obj: Object) -> bool:
        """Whether the object's controller reference has the owner's uid, not only its name."""
        return obj.metadata.is_controlled_by(self.metadata.uid)


def controlled(owner: Owner, objects: Iterable[T]) -> tuple[T, ...]:
    """The objects that the owner controls."""
    return tuple(obj for obj in objects if owner.controls(obj))


def claims(
    owner: Owner, selector: LabelSelector, resource: Resource, objects: Iterable[Object], *, finalizer: str = ""
) -> tuple[Patch, ...]:
    """The writes that make exactly the selected objects of the resource the owner's; none for an owner that is being deleted,
    which adopts nothing. What is adopted gets the finalizer, what is released loses it."""
    is_leaving = owner.metadata.deletion_timestamp is not None
    writes = []
    for obj in objects:
        selected = selector.matches(obj.metadata.labels)
        if owner.controls(obj):
            if not selected:
                writes.append(_owners_patch(resource, obj.metadata, _others(owner, obj), finalizer, ()))
        elif selected and not is_leaving and obj.metadata.controller is None and obj.metadata.deletion_timestamp is None:
            owners = [*_others(owner, obj), owner.reference]
            writes.append(_owners_patch(resource, obj.metadata, owners, finalizer, (finalizer,)))
    return tuple(writes)


def finalizer_removal(resource: Resource, metadata: ObjectMeta, finalizer: str) -> Patch:
    """The write that takes a finalizer from an object; refused when the object was changed meanwhile."""
    return _patch(resource, metadata, _finalizers(metadata, finalizer, ()))


def _others(owner: Owner, obj: Object) -> list[Json]:
    return [msgspec.to_builtins(other) for other in obj.metadata.owner_references if other.uid != owner.metadata.uid]


def _owners_patch(resource: Resource, metadata: ObjectMeta, owners: list[Json], finalizer: str, kept: Iterable[str]) -> Patch:
    finalizers = _finalizers(metadata, finalizer, kept) if finalizer else {}
    return _patch(resource, metadata, {"ownerReferences": owners or None, **finalizers})


def _finalizers(metadata: ObjectMeta, finalizer: str, kept: Iterable[str]) -> Json:
    others = (other for other in metadata.finalizers if other != finalizer)
    return {"finalizers": [*others, *kept] or None}


def _patch(resource: Resource, metadata: ObjectMeta, fields: Json) -> Patch:
    """Refused when the object was changed meanwhile: a list is replaced as a whole."""
    precondition = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    return Patch(ref=Ref.of(resource, metadata), patch={"metadata": {**fields, **precondition}})
