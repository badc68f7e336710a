"""persistentVolumeClaimRetentionPolicy: whose a claim is, so that it goes with the StatefulSet or with a pod scaled away.

Source: k8s.io/kubernetes 1.36 `pkg/controller/statefulset/stateful_set_utils.go`.
"""

from __future__ import annotations

import msgspec

from shunter.api.apps import StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import Json, MetadataOnly, OwnerReference, controller_reference
from shunter.api.ownership import is_of_former
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.kube.controllers.plan import Note, Patch, Ref


def correction(stateful_set: StatefulSet, claim: MetadataOnly, pod: Pod, *, condemned: bool) -> Patch | None:
    """The write that makes the claim whose the policy says; None where it is already, or another controller's."""
    owner = Owner(STATEFUL_SETS, stateful_set.metadata)
    references = claim.metadata.owner_references
    if is_of_former(claim.metadata, *owner) or is_of_former(claim.metadata, PODS, pod.metadata):
        return None
    foreign = _foreign_controller(references, owner, pod)
    desired = [] if foreign else _desired_references(owner, stateful_set, pod, condemned=condemned)
    before = [one for one in references if one.uid in (owner.metadata.uid, pod.metadata.uid)]
    if [(one.uid, one.controller) for one in before] == [(one["uid"], True) for one in desired]:
        return None
    others = [msgspec.to_builtins(one) for one in references if one not in before]
    metadata = claim.metadata
    ref = Ref.of(PERSISTENT_VOLUME_CLAIMS, metadata)
    body = {"ownerReferences": [*others, *desired] or None, "resourceVersion": metadata.resource_version}
    return Patch(ref=ref, patch={"metadata": body}, succeeded=_conflict(owner, claim) if foreign else None)


def _desired_references(owner: Owner, stateful_set: StatefulSet, pod: Pod, *, condemned: bool) -> list[Json]:
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    if policy.when_scaled == "Delete" and condemned:
        return [controller_reference("v1", "Pod", pod.metadata.name, pod.metadata.uid)]
    return [owner.reference] if policy.when_deleted == "Delete" else []


def _foreign_controller(references: tuple[OwnerReference, ...], owner: Owner, pod: Pod) -> bool:
    return any(one.controller and one.uid not in (owner.metadata.uid, pod.metadata.uid) for one in references)


def _conflict(owner: Owner, claim: MetadataOnly) -> Note:
    message = (
        f"PersistentVolumeClaim {claim.metadata.name} has a conflicting OwnerReference that acts as a manging controller, "
        "the retention policy is ignored for this claim"
    )
    return Note(regarding=owner.ref, type="Warning", reason="ConflictingController", message=message)
