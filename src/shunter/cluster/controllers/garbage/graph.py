"""Who owns whom: the metadata of every object, found by its uid and by the uids of its owners. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from shunter.api.meta import MetadataOnly, OwnerReference
from shunter.api.resources import Resource
from shunter.cluster.controllers.garbage.plan import FOREGROUND, ORPHAN, Member, Observed, OwnerState
from shunter.kube.controllers.plan import Ref

MOST_ABSENT = 4096
"""Owners known to be gone that are remembered."""


class Graph:
    """Kept by informers through `changed`, which returns the uids to look at again."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._dependents: dict[str, set[str]] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._absent: OrderedDict[Ref, None] = OrderedDict()

    def serve(self, resource: Resource) -> list[str]:
        """The kind is watched from now on; returns who may have waited for that."""
        self._kinds[resource.group, resource.kind] = resource
        return [uid for uid, member in self._members.items() if member.metadata.owner_references]

    def retire(self, resource: Resource) -> None:
        """The kind is served no more, so nothing is known about its objects."""
        self._kinds.pop((resource.group, resource.kind), None)
        for uid in [uid for uid, member in self._members.items() if member.ref.resource == resource]:
            self._drop(self._members.pop(uid))

    def changed(self, resource: Resource, old: MetadataOnly | None, new: MetadataOnly | None) -> set[str]:
        """Takes in a difference of one object, from an informer."""
        touched: set[str] = set()
        if old is not None and new is not None and _relevant(old) == _relevant(new):
            self._members[new.metadata.uid] = _member(resource, new)
            return touched
        if old is not None:
            member = _member(resource, old)
            self._drop(member)
            if self._members.get(member.ref.uid, member).ref == member.ref:
                self._members.pop(member.ref.uid, None)
            touched |= {reference.uid for reference in old.metadata.owner_references}
            if new is None or new.metadata.uid != old.metadata.uid:
                self.absent(member.ref)
                touched |= self._dependents.get(member.ref.uid, set())
        if new is not None:
            member = _member(resource, new)
            uid = member.ref.uid
            self._members[uid] = member
            for reference in new.metadata.owner_references:
                self._dependents.setdefault(reference.uid, set()).add(uid)
            touched |= {uid, *(reference.uid for reference in new.metadata.owner_references)}
            if member.waits_for_dependents:
                touched |= self._dependents.get(uid, set())
        return {uid for uid in touched if self._concerns(uid)}

    def absent(self, ref: Ref) -> None:
        """The object is known to be gone for good: uids do not come back."""
        self._absent[ref] = None
        if len(self._absent) > MOST_ABSENT:
            self._absent.popitem(last=False)

    def observe(self, uid: str) -> Observed | list[Ref] | None:
        """What the rules need to know of an object; or its owners that no informer has, to be verified first; or None when no
        rule concerns it."""
        member = self._members.get(uid)
        if member is None or not self._concerns(uid):
            return None
        dependents = tuple(self.dependents(uid))
        if member.metadata.deletion_timestamp is not None:
            return Observed(member=member, dependents=dependents)
        states = [self._state(member, reference) for reference in member.metadata.owner_references]
        unverified = [state for state in states if isinstance(state, Ref)]
        known = tuple(state for state in states if isinstance(state, OwnerState))
        return unverified or Observed(member=member, owners=known, dependents=dependents)

    def dependents(self, uid: str) -> Iterator[Member]:
        """The objects that have an owner reference with this uid, in the order of their own."""
        return (self._members[other] for other in sorted(self._dependents.get(uid, ())))

    def _state(self, member: Member, reference: OwnerReference) -> OwnerState | Ref:
        resource = self._kinds.get((reference.api_version.rpartition("/")[0], reference.kind))
        if resource is None or (resource.namespaced and not member.ref.namespace):
            return OwnerState.UNRESOLVABLE
        ref = Ref(resource, member.ref.namespace if resource.namespaced else "", reference.name, reference.uid)
        owner = self._members.get(reference.uid)
        if owner is not None and owner.ref == ref:
            return OwnerState.DELETING if owner.waits_for_dependents else OwnerState.PRESENT
        return OwnerState.ABSENT if ref in self._absent else ref

    def _concerns(self, uid: str) -> bool:
        """Whether any rule may apply: it has owners, or it is being deleted and waits for dependents."""
        member = self._members.get(uid)
        if member is None:
            return False
        if member.metadata.deletion_timestamp is None:
            return bool(member.metadata.owner_references)
        return not {FOREGROUND, ORPHAN}.isdisjoint(member.metadata.finalizers)

    def _drop(self, member: Member) -> None:
        for reference in member.metadata.owner_references:
            others = self._dependents.get(reference.uid)
            if others is not None:
                others.discard(member.ref.uid)
                if not others:
                    del self._dependents[reference.uid]


def _relevant(obj: MetadataOnly) -> tuple[object, ...]:
    """What the rules look at. Most changes are of a status, and leave it as it is."""
    metadata = obj.metadata
    return metadata.uid, metadata.owner_references, metadata.deletion_timestamp, metadata.finalizers


def _member(resource: Resource, obj: MetadataOnly) -> Member:
    return Member(Ref.of(resource, obj.metadata), obj.metadata)
