"""One reconcile of a Deployment: its ReplicaSets and its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from shunter.api.apps import Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec, status_json
from shunter.api.core import Pod
from shunter.api.meta import Json, ObjectMeta, condition_of
from shunter.api.resources import DEPLOYMENTS, REPLICA_SETS
from shunter.cluster.controllers.deployment import sizes as sizing
from shunter.cluster.controllers.deployment.history import (
    REVISION,
    TEMPLATE_HASH,
    Versions,
    new_annotations,
    size_annotations,
    superfluous,
    versions,
)
from shunter.cluster.controllers.deployment.progress import (
    PROGRESSING,
    counted,
    has_deadline,
    is_complete,
    paused_or_resumed,
    rolled_out,
    until_deadline,
    with_condition,
)
from shunter.cluster.controllers.deployment.sizes import Sizes
from shunter.cluster.controllers.workloads.claiming import Owner, claims, controlled
from shunter.cluster.controllers.workloads.hashes import template_hash
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Note, Patch, Plan, Ref, StatusWrite, Write
from shunter.kube.merge_patch import difference

_LONGEST_NAME = 253


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment, the ReplicaSets that it controls or could adopt, and the pods of those that it controls, by their uid."""

    deployment: Deployment
    replica_sets: tuple[ReplicaSet, ...] = ()
    pods: Mapping[str, tuple[Pod, ...]] = {}

    @property
    def owner(self) -> Owner:
        """The Deployment as the owner that its ReplicaSets name."""
        return Owner(DEPLOYMENTS, self.deployment.metadata)


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now. `now` is cut to whole seconds, as times are stored."""
    deployment, owner, now = observed.deployment, observed.owner, now.replace(microsecond=0)
    if writes := claims(owner, deployment.spec.selector, REPLICA_SETS, observed.replica_sets):
        return Plan(writes=writes)
    found = versions(deployment, controlled(owner, observed.replica_sets))
    if deployment.metadata.deletion_timestamp is not None:
        return Plan(status=_status_write(observed, counted(deployment, deployment.status, found, now)))
    status = _with_found_replica_set(deployment, paused_or_resumed(deployment, now), found, now)
    if deployment.spec.paused or sizing.is_scaled(deployment, found):
        sizes = sizing.scaled(deployment, found)
        gone = superfluous(deployment, found.old) if deployment.spec.paused else ()
        return _written(observed, found, sizes, gone, counted(deployment, status, found, now))
    if found.new is None and _may_start(observed, found):
        return _started(observed, found, status, now)
    sizes = sizing.rolled(deployment, found) if deployment.is_rolling else _recreated(observed, found)
    done = not sizes and is_complete(deployment, deployment.status)
    gone = superfluous(deployment, found.old) if done else ()
    status = rolled_out(deployment, status, found, now)
    rolled = _written(observed, found, sizes, gone, status)
    return msgspec.structs.replace(rolled, requeue_after=until_deadline(deployment, status, now))


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """A ReplicaSet that could not be made: its name is taken, so that the next gets another, or it was refused."""
    deployment = observed.deployment
    if not isinstance(failure.write, Create):
        return NOTHING
    if failure.reason == "AlreadyExists":
        return Plan(status=_status_write(observed, _collided(deployment.status)))
    message = f'Failed to create new replica set "{failure.write.body["metadata"]["name"]}": {failure.message}'
    event = Note(regarding=observed.owner.ref, type="Warning", reason="ReplicaSetCreateError", message=message)
    status = deployment.status
    if has_deadline(deployment):
        status = with_condition(status, PROGRESSING, "False", "ReplicaSetCreateError", message, now.replace(microsecond=0))
    return Plan(status=_status_write(observed, status), events=(event,))


def _with_found_replica_set(deployment: Deployment, status: DeploymentStatus, found: Versions, now: datetime) -> DeploymentStatus:
    if found.new is None or not has_deadline(deployment) or condition_of(status.conditions, PROGRESSING) is not None:
        return status
    return with_condition(
        status, PROGRESSING, "True", "FoundNewReplicaSet", f'Found new replica set "{found.new.metadata.name}"', now
    )


def _may_start(observed: Observed, found: Versions) -> bool:
    """With the strategy Recreate not before the last pod of older versions has ended."""
    return observed.deployment.is_rolling or not (found.active_old or _has_old_pods(observed, found))


def _recreated(observed: Observed, found: Versions) -> Sizes:
    """All old pods go first; then come all new ones."""
    if found.active_old:
        return {one.metadata.name: 0 for one in found.active_old}
    replicas, new = observed.deployment.spec.replicas, found.new
    if new is None or new.spec.replicas == replicas or _has_old_pods(observed, found):
        return {}
    return {new.metadata.name: replicas}


def _has_old_pods(observed: Observed, found: Versions) -> bool:
    if any(one.status.replicas for one in found.old):
        return True
    return any(not pod.is_finished for one in found.old for pod in observed.pods.get(one.metadata.uid, ()))


def _started(observed: Observed, found: Versions, status: DeploymentStatus, now: datetime) -> Plan:
    """A new version: its ReplicaSet is made, with the next revision. A name that a version with another template has already
    counts as a collision, so that the next look makes another."""
    deployment = observed.deployment
    body = _replica_set(observed, found)
    metadata = body["metadata"]
    if metadata["name"] in {one.metadata.name for one in found.old}:
        return Plan(status=_status_write(observed, _collided(deployment.status)))
    size = body["spec"]["replicas"]
    scaled = f"Scaled up replica set {metadata['name']} from 0 to {size}"
    made = ReplicaSet(
        metadata=ObjectMeta(name=metadata["name"], annotations=metadata["annotations"]), spec=ReplicaSetSpec(replicas=size)
    )
    if has_deadline(deployment):
        message = f'Created new replica set "{metadata["name"]}"'
        status = with_condition(status, PROGRESSING, "True", "NewReplicaSetCreated", message, now)
    creation = Create(resource=REPLICA_SETS, body=body, succeeded=_scaling(observed, scaled) if size else None)
    found = Versions(made, found.old)
    status = rolled_out(deployment, status, found, now)
    rest = _written(observed, found, {}, (), status)
    return msgspec.structs.replace(rest, writes=(creation, *rest.writes), requeue_after=until_deadline(deployment, status, now))


def _collided(status: DeploymentStatus) -> DeploymentStatus:
    return msgspec.structs.replace(status, collision_count=(status.collision_count or 0) + 1)


def _replica_set(observed: Observed, found: Versions) -> Json:
    deployment = observed.deployment
    spec, name = deployment.spec, deployment.metadata.name
    hashed = template_hash(spec.template, deployment.status.collision_count)
    template_metadata = dict(spec.template.get("metadata") or {})
    labels = {**(template_metadata.get("labels") or {}), TEMPLATE_HASH: hashed}
    selector: Json = {"matchLabels": {**(spec.selector.match_labels or {}), TEMPLATE_HASH: hashed}}
    if spec.selector.match_expressions:
        selector["matchExpressions"] = [*spec.selector.match_expressions]
    desired: Json = {
        "replicas": sizing.first_size(deployment, found.old),
        "selector": selector,
        "template": {**spec.template, "metadata": {**template_metadata, "labels": labels}},
    }
    if spec.min_ready_seconds:
        desired["minReadySeconds"] = spec.min_ready_seconds
    return {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": f"{name[: _LONGEST_NAME - 1 - len(hashed)]}-{hashed}",
            "namespace": deployment.metadata.namespace,
            "labels": labels,
            "annotations": {**new_annotations(deployment, found), **size_annotations(deployment)},
            "ownerReferences": [observed.owner.reference],
        },
        "spec": desired,
    }


def _written(observed: Observed, found: Versions, sizes: Sizes, gone: Iterable[ReplicaSet], status: DeploymentStatus) -> Plan:
    """ReplicaSets get their sizes, the new one what is the Deployment's; superfluous ones go; then the status. The revision is an
    annotation of the Deployment, which is written with the status, since nothing else of it may be counted as a change."""
    deployment = observed.deployment
    patches = (_patch(observed, found, one, sizes) for one in found.all)
    writes: list[Write] = [patch for patch in patches if patch is not None]
    writes += [Delete(ref=Ref.of(REPLICA_SETS, one.metadata)) for one in gone]
    revision = new_annotations(deployment, found).get(REVISION) or _annotation(found.new, REVISION)
    status_write = _status_write(observed, status)
    if not revision or found.new is None or deployment.metadata.annotations.get(REVISION) == revision:
        return Plan(writes=tuple(writes), status=status_write)
    body: Json = {
        "metadata": {"annotations": {REVISION: revision}, "resourceVersion": status_write.resource_version},
        "status": difference(status_write.observed, status_write.desired),
    }
    return Plan(writes=(*writes, Patch(ref=observed.owner.ref, patch=body, subresource="status")))


def _patch(observed: Observed, found: Versions, one: ReplicaSet, sizes: Sizes) -> Patch | None:
    """What changes of a ReplicaSet that already exists."""
    deployment, before = observed.deployment, one.metadata
    if not before.uid:
        return None
    annotations: dict[str, str] = {}
    spec: Json = {}
    if one is found.new:
        annotations |= new_annotations(deployment, found)
        if one.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
            spec["minReadySeconds"] = deployment.spec.min_ready_seconds
    size = sizes.get(before.name)
    if size is not None:
        annotations |= size_annotations(deployment)
    succeeded = None
    if size is not None and size != one.spec.replicas:
        spec["replicas"] = size
        direction = "up" if size > one.spec.replicas else "down"
        succeeded = _scaling(observed, f"Scaled {direction} replica set {before.name} from {one.spec.replicas} to {size}")
    changed = {key: value for key, value in annotations.items() if before.annotations.get(key) != value}
    if not changed and not spec:
        return None
    patch: Json = {"metadata": {"resourceVersion": before.resource_version, **({"annotations": changed} if changed else {})}}
    if spec:
        patch["spec"] = spec
    return Patch(ref=Ref.of(REPLICA_SETS, one.metadata), patch=patch, succeeded=succeeded)


def _annotation(replica_set: ReplicaSet | None, name: str) -> str:
    return replica_set.metadata.annotations.get(name, "") if replica_set is not None else ""


def _scaling(observed: Observed, message: str) -> Note:
    return Note(regarding=observed.owner.ref, type="Normal", reason="ScalingReplicaSet", message=message)


def _status_write(observed: Observed, status: DeploymentStatus) -> StatusWrite:
    deployment = observed.deployment
    return StatusWrite.over(DEPLOYMENTS, deployment.metadata, status_json(deployment.status), status_json(status))
