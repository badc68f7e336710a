"""The rules of owner references, one object at a time."""

from datetime import UTC, datetime

import pytest

from shunter.api.meta import ObjectMeta, OwnerReference
from shunter.api.resources import PODS
from shunter.cluster.controllers.garbage.plan import Member, Observed, OwnerState, plan
from shunter.kube.controllers.plan import Delete, Patch, Ref

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PRESENT, ABSENT, DELETING = OwnerState.PRESENT, OwnerState.ABSENT, OwnerState.DELETING
UNRESOLVABLE = OwnerState.UNRESOLVABLE


def owner(uid: str, *, blocks: bool = True) -> OwnerReference:
    return OwnerReference(api_version="batch/v1", kind="Job", name=uid, uid=uid, block_owner_deletion=blocks)


def member(uid: str, *owners: OwnerReference, finalizers: tuple[str, ...] = (), deleting: bool = False) -> Member:
    metadata = ObjectMeta(
        name=uid,
        namespace="n",
        uid=uid,
        resource_version="7",
        owner_references=owners,
        finalizers=finalizers,
        deletion_timestamp=NOW if deleting else None,
    )
    return Member(Ref(PODS, "n", uid, uid), metadata)


def deletion(observed: Observed) -> str:
    """How the object itself is deleted; empty when it is not."""
    found = [write for write in plan(observed).writes if isinstance(write, Delete)]
    assert all(write.ref == observed.member.ref for write in found)
    return found[0].propagation if found else ""


@pytest.mark.parametrize(
    ("states", "propagation"),
    [
        pytest.param([PRESENT], "", id="an owner is there"),
        pytest.param([ABSENT], "Background", id="the only owner is gone"),
        pytest.param([ABSENT, ABSENT], "Background", id="all owners are gone"),
        pytest.param([DELETING], "Background", id="the owner waits for it"),
        pytest.param([PRESENT, ABSENT], "", id="one of two owners is there"),
        pytest.param([UNRESOLVABLE, ABSENT], "", id="an owner of an unknown kind may be there"),
    ],
)
def test_object_goes_when_no_owner_is_left(states: list[OwnerState], propagation: str) -> None:
    owners = [owner(f"o{number}") for number in range(len(states))]
    assert deletion(Observed(member=member("x", *owners), owners=tuple(states))) == propagation


@pytest.mark.parametrize("state", [ABSENT, DELETING])
def test_references_to_owners_that_go_are_dropped_while_another_stays(state: OwnerState) -> None:
    observed = Observed(member=member("x", owner("stays"), owner("goes")), owners=(PRESENT, state))
    (write,) = plan(observed).writes
    assert isinstance(write, Patch)
    assert [reference["uid"] for reference in write.patch["metadata"]["ownerReferences"]] == ["stays"]
    assert write.patch["metadata"]["resourceVersion"] == "7"


def test_dependent_with_dependents_of_its_own_goes_in_the_foreground() -> None:
    below = member("below", owner("x"))
    assert deletion(Observed(member=member("x", owner("o")), owners=(DELETING,), dependents=(below,))) == "Foreground"


@pytest.mark.parametrize(
    ("finalizer", "propagation"), [("orphan", "Orphan"), ("foregroundDeletion", "Foreground"), ("other/one", "Background")]
)
def test_deletion_goes_the_way_that_finalizers_ask_for(finalizer: str, propagation: str) -> None:
    observed = Observed(member=member("x", owner("o"), finalizers=(finalizer,)), owners=(ABSENT,))
    assert deletion(observed) == propagation


@pytest.mark.parametrize(
    ("dependents", "let_go"),
    [
        pytest.param((), True, id="no dependents"),
        pytest.param((member("d", owner("x", blocks=False)),), True, id="a dependent that does not block"),
        pytest.param((member("d", owner("x")),), False, id="a dependent that blocks"),
        pytest.param((member("d", owner("x"), deleting=True),), False, id="a blocking dependent that is going"),
    ],
)
def test_object_deleted_in_the_foreground_waits_for_blocking_dependents(dependents: tuple[Member, ...], let_go: bool) -> None:
    held = member("x", finalizers=("foregroundDeletion", "other/one"), deleting=True)
    writes = plan(Observed(member=held, dependents=dependents)).writes
    assert [write.patch["metadata"]["finalizers"] for write in writes if isinstance(write, Patch)] == [["other/one"]] * let_go


def test_orphaned_dependents_forget_their_owner_before_it_goes() -> None:
    held = member("x", finalizers=("orphan",), deleting=True)
    dependents = (member("a", owner("x")), member("b", owner("other"), owner("x")))
    first, second, last = plan(Observed(member=held, dependents=dependents)).writes
    assert isinstance(first, Patch)
    assert isinstance(second, Patch)
    assert isinstance(last, Patch)
    assert (first.ref.name, first.patch["metadata"]["ownerReferences"]) == ("a", None)
    assert [reference["uid"] for reference in second.patch["metadata"]["ownerReferences"]] == ["other"]
    assert (last.ref.name, last.patch["metadata"]["finalizers"]) == ("x", None)


def test_circle_of_waiting_owners_is_broken() -> None:
    other = member("o", owner("x"), finalizers=("foregroundDeletion",), deleting=True)
    patch, delete = plan(Observed(member=member("x", owner("o")), owners=(DELETING,), dependents=(other,))).writes
    assert isinstance(patch, Patch)
    assert [reference["blockOwnerDeletion"] for reference in patch.patch["metadata"]["ownerReferences"]] == [False]
    assert isinstance(delete, Delete)


def test_object_being_deleted_without_dependents_finalizers_is_left_alone() -> None:
    assert plan(Observed(member=member("x", owner("o"), finalizers=("other/one",), deleting=True))).writes == ()
