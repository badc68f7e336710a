"""A pod waits for its claims, and tells those that wait for it which node it will have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cluster.controllers.scheduler.pending import node, outcome, pod
from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.claims import PodClaim, mismatches, selections
from shunter.cluster.controllers.scheduler.plan import Observed, Queued, plan, plan_strictly
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.volumes.matching import FreeVolumes
from shunter.cluster.controllers.volumes.views import SELECTED_NODE, Claim, StorageClass, Volume
from shunter.kube.controllers.plan import Create, Patch, Plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WAITS = msgspec.convert({"metadata": {"name": "standard"}, "volumeBindingMode": "WaitForFirstConsumer"}, StorageClass)


def looked(*claimed: PodClaim) -> Plan:
    volumes = [{"name": one.name, "persistentVolumeClaim": {"claimName": one.name}} for one in claimed]
    metadata = {"name": "p", "namespace": "n", "uid": "p1"}
    pod = msgspec.convert({"metadata": metadata, "spec": {"volumes": [{"name": "e", "emptyDir": {}}, *volumes]}}, SchedulablePod)
    assert pod.claims == tuple(one.name for one in claimed)
    node = msgspec.convert({"metadata": {"name": "one"}}, Node)
    return plan(Observed(pod=pod, nodes=(node,), claimed=claimed), NOW)


def claimed(phase: str, storage_class: StorageClass | None = None, **metadata: Any) -> PodClaim:
    body = {"metadata": {"name": "data", "namespace": "n", "uid": "c1", **metadata}, "status": {"phase": phase}}
    return PodClaim("data", msgspec.convert(body, Claim), storage_class)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        pytest.param(PodClaim("data", None), 'persistentvolumeclaim "data" not found', id="a claim that is not there"),
        pytest.param(claimed("Pending"), "pod has unbound immediate PersistentVolumeClaims", id="one without its volume"),
        pytest.param(
            claimed("Bound", deletionTimestamp="2026-11-21T11:00:00Z"),
            'persistentvolumeclaim "data" is being deleted',
            id="one that is going",
        ),
    ],
)
def test_a_pod_waits_for_its_claims_and_says_so(one: PodClaim, message: str) -> None:
    (write,) = looked(one).writes
    assert isinstance(write, Patch)
    assert write.succeeded is not None
    assert write.succeeded.message.startswith(f"0/1 nodes are available: {message}. ")


def test_a_pod_whose_claims_are_bound_gets_its_node() -> None:
    (write,) = looked(claimed("Bound")).writes
    assert isinstance(write, Create)
    assert write.subresource == "binding"


def test_a_claim_that_waits_for_the_pod_is_told_its_node_once() -> None:
    (write,) = looked(claimed("Pending", WAITS)).writes
    assert isinstance(write, Patch)
    assert write.patch == {"metadata": {"annotations": {SELECTED_NODE: "one"}}}
    assert looked(claimed("Pending", WAITS, annotations={SELECTED_NODE: "one"})).writes == ()


def test_a_claim_that_waits_for_the_pod_is_given_a_volume_of_its_node_instead() -> None:
    one = waiting("data", volume("elsewhere", "b"), volume("here", "one"))
    node = msgspec.convert({"metadata": {"name": "one", "labels": {"kubernetes.io/hostname": "one"}}}, Node)
    selected = selections([one], node)
    assert selected is not None
    (write,) = selected
    assert (write.ref.name, write.patch["spec"]["claimRef"]["uid"]) == ("here", "data")
    given = msgspec.convert({"metadata": {"name": "here"}, "spec": write.patch["spec"] | {"storageClassName": "s"}}, Volume)
    given = msgspec.structs.replace(given, spec=msgspec.structs.replace(given.spec, capacity={"storage": "1Gi"}))
    assert selections([one._replace(volumes=(given,))], node) == []


@pytest.mark.parametrize(
    "blocked",
    [
        pytest.param(PodClaim("data", None), id="a claim that is not there"),
        pytest.param(claimed("Pending"), id="one that is not bound"),
    ],
)
def test_a_pod_that_its_claims_keep_back_takes_no_room_from_those_behind_it(blocked: PodClaim) -> None:
    ahead = pod("ahead", requests={"cpu": "3"}, priority=5)
    behind = pod("behind", requests={"cpu": "3"})
    waits = Queued(ahead, (blocked,))
    assert outcome(Observed(pod=behind, nodes=(node(),), ahead=(waits,))) == "one"
    served = Queued(ahead, (claimed("Bound"),))
    assert "1 Insufficient cpu." in outcome(Observed(pod=behind, nodes=(node(),), ahead=(served,)))


def test_a_pod_whose_volume_is_on_another_node_takes_no_room_on_this_one() -> None:
    ahead = Queued(pod("ahead", requests={"cpu": "3"}, priority=5), (waiting("data", volume("v", "b")),))
    assert outcome(Observed(pod=pod("behind", requests={"cpu": "3"}), nodes=(node(),), ahead=(ahead,))) == "one"


STATIC = msgspec.convert(
    {"metadata": {"name": "s"}, "volumeBindingMode": "WaitForFirstConsumer", "provisioner": "kubernetes.io/no-provisioner"},
    StorageClass,
)


def volume(name: str, *hosts: str, size: str = "1Gi", phase: str = "Available") -> Volume:
    """Of the class `s`; on these hosts only, where there are any."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}} if hosts else {}
    spec = {"capacity": {"storage": size}, "storageClassName": "s", "nodeAffinity": affinity}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}, Volume)


def waiting(name: str, *volumes: Volume, size: str = "1Gi", phase: str = "Pending") -> PodClaim:
    spec = {"storageClassName": "s", "resources": {"requests": {"storage": size}}}
    body = {"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": spec, "status": {"phase": phase}}
    claim = msgspec.convert(body, Claim)
    return PodClaim(name, claim, STATIC, volumes) if claim.is_bound else PodClaim(name, claim, STATIC, (), FreeVolumes(volumes))


def on(host: str) -> Node:
    return msgspec.convert({"metadata": {"name": host, "labels": {"kubernetes.io/hostname": host}}}, Node)


def test_a_bound_volume_is_mounted_only_where_its_affinity_takes_the_node() -> None:
    bound = waiting("data", volume("v", "a", "b", phase="Bound"), phase="Bound")
    assert mismatches([bound], on("a")) == ()
    assert mismatches([bound], on("c")) == ("node(s) didn't match PersistentVolume's node affinity",)
    assert mismatches([waiting("data", volume("v"), phase="Bound")], on("c")) == ()


def test_a_claim_that_waits_needs_a_volume_that_the_node_can_mount_if_nobody_makes_one() -> None:
    none = ("node(s) didn't find available persistent volumes to bind",)
    assert mismatches([waiting("data", volume("v", "a"))], on("a")) == ()
    assert mismatches([waiting("data", volume("v", "a"))], on("b")) == none
    assert mismatches([waiting("data", volume("v", size="1Mi"))], on("a")) == none
    made = waiting("data")._replace(storage_class=msgspec.structs.replace(STATIC, provisioner="example.com/disks"))
    assert mismatches([made], on("a")) == ()


def test_two_claims_of_a_pod_need_two_volumes() -> None:
    one, two = volume("one"), volume("two", size="5Gi")
    assert mismatches([waiting("large", one, two, size="5Gi"), waiting("small", one, two)], on("a")) == ()
    assert mismatches([waiting("first", one), waiting("second", one)], on("a")) != ()


@pytest.mark.parametrize("decide", [plan, plan_strictly])
def test_a_pod_goes_to_the_node_that_can_mount_its_volume_or_says_why_none_can(decide: Any) -> None:
    metadata = {"name": "p", "namespace": "n", "uid": "p1"}
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    pod = msgspec.convert({"metadata": metadata, "spec": spec}, SchedulablePod)
    bound = waiting("data", volume("v", "b", phase="Bound"), phase="Bound")
    (binding,) = decide(Observed(pod=pod, nodes=(on("a"), on("b")), claimed=(bound,)), NOW).writes
    assert isinstance(binding, Create)
    assert binding.body["target"]["name"] == "b"
    (refused,) = decide(Observed(pod=pod, nodes=(on("a"), on("c")), claimed=(bound,)), NOW).writes
    assert isinstance(refused, Patch)
    assert refused.succeeded is not None
    assert refused.succeeded.message.startswith(
        "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."
    )


def test_what_nodes_can_mount_is_looked_up_once_for_all_pods_that_want_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    is_on = Volume.is_on

    def counted(volume: Volume, labels: Mapping[str, str]) -> bool:
        looks.append(volume.metadata.name)
        return is_on(volume, labels)

    monkeypatch.setattr(Volume, "is_on", counted)
    hosts = ["a", "b", "c"]
    free = FreeVolumes([volume(f"v{number}", hosts[number % 3]) for number in range(30)])
    ahead = tuple(Queued(pod(f"p{number}", priority=1), (waiting(f"c{number}")._replace(free=free),)) for number in range(40))
    mine = waiting("data")._replace(free=free)
    plan_strictly(Observed(pod=pod("last"), nodes=tuple(map(on, hosts)), claimed=(mine,), ahead=ahead), NOW)
    assert len(looks) == 30 * len(hosts), "not once more for each of the pods ahead"


def test_claims_that_want_different_things_get_what_they_want_of_the_same_volumes() -> None:
    free = FreeVolumes([volume("large", "a", size="5Gi"), volume("small", "b")])
    large, small = waiting("one", size="5Gi")._replace(free=free), waiting("two")._replace(free=free)
    assert [mismatches([one], on(host)) == () for one in (large, small) for host in "ab"] == [True, False, True, True]


@pytest.mark.parametrize("provisioner", ["kubernetes.io/no-provisioner", "example.com/disks"])
def test_a_claim_that_is_marked_as_if_its_volume_were_made_gets_one_that_is_there_only_where_nobody_makes_any(
    provisioner: str,
) -> None:
    one = waiting("data", volume("v", "a"))
    assert one.claim is not None
    metadata = msgspec.structs.replace(one.claim.metadata, annotations={SELECTED_NODE: "a"})
    marked = one._replace(
        claim=msgspec.structs.replace(one.claim, metadata=metadata),
        storage_class=msgspec.structs.replace(STATIC, provisioner=provisioner),
    )
    assert mismatches([marked], on("a")) == ()
    writes = selections([marked], on("a"))
    assert writes is not None
    if provisioner == "example.com/disks":
        assert writes == []
    else:
        reserves, unmarks = writes
        assert reserves.ref.name == "v"
        assert (unmarks.ref.name, unmarks.patch) == ("data", {"metadata": {"annotations": {SELECTED_NODE: None}}})
