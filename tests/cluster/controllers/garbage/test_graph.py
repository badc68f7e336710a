"""The owner graph: what is known, what has to be asked for, and who is looked at again."""

from datetime import UTC, datetime

from msgspec.structs import replace

from shunter.api.meta import MetadataOnly, ObjectMeta, OwnerReference
from shunter.api.resources import JOBS, NODES, PODS
from shunter.cluster.controllers.garbage.graph import Graph
from shunter.cluster.controllers.garbage.plan import Observed, OwnerState
from shunter.kube.controllers.plan import Ref

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def obj(uid: str, *owners: OwnerReference, namespace: str = "n", finalizers: tuple[str, ...] = ()) -> MetadataOnly:
    deleted = NOW if finalizers else None
    return MetadataOnly(
        metadata=ObjectMeta(
            name=uid,
            namespace=namespace,
            uid=uid,
            owner_references=owners,
            finalizers=finalizers,
            deletion_timestamp=deleted,
        )
    )


def job(uid: str) -> OwnerReference:
    return OwnerReference(api_version="batch/v1", kind="Job", name=uid, uid=uid)


def node(uid: str) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Node", name=uid, uid=uid)


def graph() -> Graph:
    serving = Graph()
    for resource in (JOBS, PODS, NODES):
        serving.serve(resource)
    return serving


def states(seen: object) -> tuple[OwnerState, ...]:
    assert isinstance(seen, Observed)
    return seen.owners


def test_owner_that_arrived_is_present() -> None:
    known = graph()
    known.changed(JOBS, None, obj("j"))
    known.changed(PODS, None, obj("p", job("j")))
    assert states(known.observe("p")) == (OwnerState.PRESENT,)


def test_a_change_that_no_rule_looks_at_is_taken_in_and_concerns_nobody() -> None:
    known, before = graph(), obj("p", job("j"))
    known.changed(JOBS, None, obj("j"))
    assert known.changed(PODS, None, before) == {"p"}
    after = replace(before, metadata=replace(before.metadata, resource_version="2", labels={"a": "b"}))
    assert known.changed(PODS, before, after) == set()
    seen = known.observe("p")
    assert isinstance(seen, Observed)
    assert seen.member.metadata == after.metadata
    assert known.changed(PODS, after, replace(after, metadata=replace(after.metadata, owner_references=(job("k"),)))) == {"p"}


def test_owner_that_never_arrived_is_to_be_verified_first() -> None:
    known = graph()
    known.changed(PODS, None, obj("p", job("j")))
    assert known.observe("p") == [Ref(JOBS, "n", "j", "j")]
    known.absent(Ref(JOBS, "n", "j", "j"))
    assert states(known.observe("p")) == (OwnerState.ABSENT,)


def test_owner_seen_going_is_absent_and_its_dependents_are_looked_at() -> None:
    known = graph()
    known.changed(JOBS, None, obj("j"))
    known.changed(PODS, None, obj("p", job("j")))
    assert known.changed(JOBS, obj("j"), None) == {"p"}
    assert states(known.observe("p")) == (OwnerState.ABSENT,)


def test_owner_in_another_namespace_is_not_the_owner() -> None:
    known = graph()
    known.changed(JOBS, None, obj("j", namespace="elsewhere"))
    known.changed(PODS, None, obj("p", job("j")))
    assert known.observe("p") == [Ref(JOBS, "n", "j", "j")]


def test_cluster_wide_owner_of_a_namespaced_object_counts() -> None:
    known = graph()
    known.changed(NODES, None, obj("machine", namespace=""))
    known.changed(PODS, None, obj("p", node("machine")))
    assert states(known.observe("p")) == (OwnerState.PRESENT,)


def test_namespaced_owner_of_a_cluster_wide_object_proves_nothing() -> None:
    known = graph()
    known.changed(NODES, None, obj("machine", job("j"), namespace=""))
    assert states(known.observe("machine")) == (OwnerState.UNRESOLVABLE,)


def test_owner_of_a_kind_nobody_serves_proves_nothing() -> None:
    known = graph()
    custom = OwnerReference(api_version="example.com/v1", kind="Thing", name="t", uid="t")
    known.changed(PODS, None, obj("p", custom))
    assert states(known.observe("p")) == (OwnerState.UNRESOLVABLE,)


def test_owner_that_waits_wakes_its_dependents_and_is_woken_by_their_going() -> None:
    known = graph()
    known.changed(JOBS, None, obj("j"))
    known.changed(PODS, None, obj("p", job("j")))
    waiting = obj("j", finalizers=("foregroundDeletion",))
    assert known.changed(JOBS, obj("j"), waiting) == {"j", "p"}
    assert states(known.observe("p")) == (OwnerState.DELETING,)
    assert known.changed(PODS, obj("p", job("j")), None) == {"j"}
    seen = known.observe("j")
    assert isinstance(seen, Observed)
    assert seen.dependents == ()


def test_successor_of_the_same_name_does_not_own_its_predecessors_dependents() -> None:
    known = graph()
    known.changed(JOBS, None, obj("j"))
    known.changed(PODS, None, obj("p", job("j")))
    successor = MetadataOnly(metadata=ObjectMeta(name="j", namespace="n", uid="j2"))
    assert known.changed(JOBS, obj("j"), successor) == {"p"}
    assert states(known.observe("p")) == (OwnerState.ABSENT,)
