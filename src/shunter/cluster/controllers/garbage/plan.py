"""The rules of owner references, for one object at a time.

An owner is named by kind, name and uid: an object of that name with another uid is not the owner. An object goes when none of
its owners is left. Deleting an owner in the foreground keeps it (finalizer foregroundDeletion) until every dependent that blocks
it is gone; with Orphan (finalizer orphan) its dependents lose their reference to it first.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Literal, NamedTuple

import msgspec

from shunter.api.meta import Json, ObjectMeta
from shunter.kube.controllers.plan import NOTHING, Delete, Patch, Plan, Ref, Write

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class OwnerState(Enum):
    """What an owner reference leads to. An owner that is being deleted in another way than the foreground is still PRESENT."""

    PRESENT = "present"
    ABSENT = "absent"
    DELETING = "deleting"
    """Being deleted in the foreground: it waits for its dependents."""
    UNRESOLVABLE = "unresolvable"
    """The owner's kind is not served, or is namespaced while the dependent is not: nothing may be concluded."""


class Member(NamedTuple):
    """One object of the owner graph."""

    ref: Ref
    metadata: ObjectMeta

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is being deleted in the foreground, and so stays until no dependent blocks it."""
        return self.metadata.deletion_timestamp is not None and FOREGROUND in self.metadata.finalizers


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """An object, how each of its owner references stands (in their order), and the objects that name it as owner."""

    member: Member
    owners: tuple[OwnerState, ...] = ()
    dependents: tuple[Member, ...] = ()


def plan(observed: Observed) -> Plan:
    """What follows for this one object; its owners and dependents are looked at under their own names."""
    member, states = observed.member, set(observed.owners)
    if member.metadata.deletion_timestamp is not None:
        return Plan(writes=(*_orphaned(observed), *_let_go(observed)))
    if not states:
        return NOTHING
    if states & {OwnerState.PRESENT, OwnerState.UNRESOLVABLE}:
        gone = {OwnerState.ABSENT, OwnerState.DELETING}
        left = [ref for ref, state in zip(_references(member), observed.owners, strict=True) if state not in gone]
        return Plan(writes=(_patch(member, {"ownerReferences": left}),)) if states & gone else NOTHING
    if OwnerState.DELETING in states and observed.dependents:
        return Plan(writes=(*_unblocked(observed), Delete(ref=member.ref, propagation="Foreground")))
    return Plan(writes=(Delete(ref=member.ref, propagation=_propagation(member)),))


def _orphaned(observed: Observed) -> Iterable[Write]:
    """The dependents of an object deleted with Orphan forget it; then nothing holds it any more."""
    member = observed.member
    if ORPHAN not in member.metadata.finalizers:
        return
    for dependent in observed.dependents:
        left = [ref for ref in _references(dependent) if ref["uid"] != member.ref.uid]
        yield _patch(dependent, {"ownerReferences": left or None})
    yield _without(member, ORPHAN)


def _let_go(observed: Observed) -> Iterable[Write]:
    """An object deleted in the foreground goes when no dependent blocks it."""
    member = observed.member
    if FOREGROUND in member.metadata.finalizers and not any(_blocks(dependent, member) for dependent in observed.dependents):
        yield _without(member, FOREGROUND)


def _unblocked(observed: Observed) -> Iterable[Write]:
    """In a circle of owners that all wait for each other, one has to stop blocking."""
    if any(dependent.waits_for_dependents for dependent in observed.dependents):
        references = [{**ref, "blockOwnerDeletion": False} for ref in _references(observed.member)]
        yield _patch(observed.member, {"ownerReferences": references})


def _blocks(dependent: Member, owner: Member) -> bool:
    references = dependent.metadata.owner_references
    return any(reference.uid == owner.ref.uid and reference.block_owner_deletion for reference in references)


def _propagation(member: Member) -> Literal["Background", "Foreground", "Orphan"]:
    """As an earlier deletion asked for by its finalizers."""
    if ORPHAN in member.metadata.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in member.metadata.finalizers else "Background"


def _references(member: Member) -> list[Json]:
    return [msgspec.to_builtins(reference) for reference in member.metadata.owner_references]


def _without(member: Member, finalizer: str) -> Patch:
    left = [other for other in member.metadata.finalizers if other != finalizer]
    return _patch(member, {"finalizers": left or None})


def _patch(member: Member, metadata: Json) -> Patch:
    """Lists are replaced as a whole, so the patch must not meet a newer object."""
    precondition = {"uid": member.ref.uid, "resourceVersion": member.metadata.resource_version}
    return Patch(ref=member.ref, patch={"metadata": {**metadata, **precondition}})
