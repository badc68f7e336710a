"""What becomes of a claim: bound to what fits, provisioned, waiting, protected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cluster.controllers.volumes.stored_claims import STANDARD, claim, volume
from shunter.api.meta import Json
from shunter.cluster.controllers.volumes.claim_plan import Observed, plan, volume_for
from shunter.cluster.controllers.volumes.views import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_PROTECTION,
    SELECTED_NODE,
    StorageClass,
    Volume,
)
from shunter.kube.controllers.plan import NOTHING, Create, Patch, Plan

FOREIGN = msgspec.convert({"metadata": {"name": "nfs"}, "provisioner": "example.com/nfs"}, StorageClass)


KEPT = {"namespace": "n", "name": "data"}


def reasons(made: Plan) -> list[str]:
    return [note.reason for note in made.events]


def bound_to(made: Plan) -> str:
    """The volume that a claim is bound to by its plan; empty when to none."""
    patches = [write for write in made.writes if isinstance(write, Patch)]
    return next((write.patch["spec"]["volumeName"] for write in patches if "volumeName" in write.patch.get("spec", {})), "")


@pytest.mark.parametrize(
    ("wanted", "volumes", "of", "expected"),
    [
        pytest.param({}, [volume()], None, "v", id="one that fits"),
        pytest.param({"volumeName": "v"}, [volume()], None, "v", id="the one it names"),
        pytest.param({"volumeName": "v"}, [volume(size="1Mi", claimRef=KEPT)], None, "v", id="it names one kept for it"),
        pytest.param({}, [volume()], STANDARD, "", id="no free one before it has a pod"),
        pytest.param({}, [volume(claimRef=KEPT)], STANDARD, "v", id="the one kept for it even before it has a pod"),
        pytest.param({"metadata": {"annotations": {SELECTED_NODE: "a"}}}, [volume()], STANDARD, "", id="no free one with a pod"),
    ],
)
def test_a_claim_is_bound_to(wanted: dict[str, Any], volumes: list[Volume], of: StorageClass | None, expected: str) -> None:
    made = plan(Observed(claim=claim(**wanted), volumes=tuple(volumes), storage_class=of, directory="/v"))
    assert bound_to(made) == expected


def test_a_claim_that_names_a_volume_unlike_it_says_so_and_waits() -> None:
    made = plan(Observed(claim=claim(volumeName="v"), volumes=(volume(size="1Mi"),)))
    assert made.writes == ()
    assert [(note.reason, note.message) for note in made.events] == [
        ("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small')
    ]


def test_binding_writes_the_volume_first_and_the_status_last() -> None:
    first, second, third = plan(Observed(claim=claim(), volumes=(volume(),))).writes
    assert isinstance(first, Patch)
    assert first.patch["spec"]["claimRef"]["uid"] == "c1"
    assert first.patch["metadata"] == {"annotations": {BOUND_BY_CONTROLLER: "yes"}, "resourceVersion": "7"}, "not a newer volume"
    assert isinstance(second, Patch)
    assert second.patch["metadata"]["annotations"] == {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
    assert isinstance(third, Patch)
    assert (third.subresource, third.patch["status"]["phase"]) == ("status", "Bound")


def test_a_binding_that_was_interrupted_is_finished_and_a_finished_one_is_left_alone() -> None:
    taken = volume(claimRef={"namespace": "n", "name": "data", "uid": "c1"})
    half = plan(Observed(claim=claim(), volumes=(taken,)))
    assert [write.subresource for write in half.writes if isinstance(write, Patch)] == ["", "status"]
    status = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    whole = claim(metadata={"annotations": {BIND_COMPLETED: "yes"}}, volumeName="v", status=status)
    assert plan(Observed(claim=whole, volumes=(taken,))) == NOTHING


def test_a_claim_waits_for_its_first_pod_and_gets_a_directory_then() -> None:
    waiting = plan(Observed(claim=claim(), storage_class=STANDARD, directory="/volumes"))
    assert (waiting.writes, reasons(waiting)) == ((), ["WaitForFirstConsumer"])
    chosen = claim(metadata={"annotations": {SELECTED_NODE: "shunter"}})
    (create,) = plan(Observed(claim=chosen, storage_class=STANDARD, directory="/volumes")).writes
    assert isinstance(create, Create)
    assert create.body == volume_for(chosen, "/volumes", "Delete")
    assert create.body["metadata"]["name"] == "pvc-c1"
    assert create.body["spec"]["hostPath"] == {"path": "/volumes/pvc-c1_n_data", "type": "DirectoryOrCreate"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        pytest.param(
            {"storage_class": FOREIGN, "directory": "/v"}, "ExternalProvisioning", id="of a class that others provision"
        ),
        pytest.param({"directory": "/v", "strict": True}, "ProvisioningFailed", id="of no class, where that is to be strict"),
        pytest.param({}, "ProvisioningFailed", id="of no class, where nothing is provisioned"),
    ],
)
def test_a_claim_that_nobody_here_serves_says_what_it_waits_for(more: dict[str, Any], reason: str) -> None:
    made = plan(Observed(claim=claim(), **more))
    assert (made.writes, reasons(made)) == ((), [reason])


def test_a_class_of_another_cluster_is_served_by_this_machine() -> None:
    (create,) = plan(Observed(claim=claim(storageClassName="nfs-client"), directory="/v")).writes
    assert isinstance(create, Create)
    assert create.body["spec"]["storageClassName"] == "nfs-client"
    assert create.succeeded is not None
    assert "there is no StorageClass nfs-client" in create.succeeded.message


def test_the_class_may_be_named_by_the_annotation_of_old() -> None:
    named = claim(metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "nfs-client"}}, storageClassName=None)
    (create,) = plan(Observed(claim=named, default_class="standard", directory="/v")).writes
    assert isinstance(create, Create)
    assert create.body["spec"]["storageClassName"] == "nfs-client"
    assert bound_to(plan(Observed(claim=named, volumes=(volume(), volume("v2", storageClassName="nfs-client"))))) == "v2"


def test_a_claim_older_than_the_default_class_gets_it_unless_it_wants_none() -> None:
    (patch,) = plan(Observed(claim=claim(storageClassName=None), default_class="standard", directory="/v")).writes
    assert isinstance(patch, Patch)
    assert patch.patch == {"spec": {"storageClassName": "standard"}}
    assert plan(Observed(claim=claim(storageClassName=""), default_class="standard", directory="/v")).writes == ()


def test_a_claim_without_class_and_volume_says_so() -> None:
    assert reasons(plan(Observed(claim=claim(storageClassName=""), directory="/v"))) == ["FailedBinding"]


def test_a_claim_that_lost_its_volume_says_so_once() -> None:
    lost: Json = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "volumeName": "gone"}
    made = plan(Observed(claim=claim(**lost, status={"phase": "Bound"})))
    assert reasons(made) == ["ClaimLost"]
    assert plan(Observed(claim=claim(**lost, status={"phase": "Lost"}))) == NOTHING


def test_of_two_claims_of_one_volume_the_other_is_lost() -> None:
    misbound: Json = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "volumeName": "v"}
    taken = volume(claimRef={"namespace": "n", "name": "other", "uid": "x"})
    made = plan(Observed(claim=claim(**misbound, status={"phase": "Bound"}), volumes=(taken,)))
    assert reasons(made) == ["ClaimMisbound"]
    assert [write.patch for write in made.writes if isinstance(write, Patch)] == [{"status": {"phase": "Lost"}}]
    assert plan(Observed(claim=claim(**misbound, status={"phase": "Lost"}), volumes=(taken,))) == NOTHING
    unbound = plan(Observed(claim=claim(volumeName="v"), volumes=(taken,)))
    assert (unbound.writes, reasons(unbound)) == ((), ["FailedBinding"])


@pytest.mark.parametrize(("in_use", "finalizers"), [(True, None), (False, [["others"]])])
def test_a_claim_is_kept_while_a_pod_uses_it(in_use: bool, finalizers: list[list[str]] | None) -> None:
    going = {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": [CLAIM_PROTECTION, "others"]}
    made = plan(Observed(claim=claim(metadata=going), in_use=in_use))
    patches = [write.patch["metadata"]["finalizers"] for write in made.writes if isinstance(write, Patch)]
    assert patches == (finalizers or [])
