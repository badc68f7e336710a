"""One reconcile of a StatefulSet: its revisions, claims, pods and status.

Pods come in order, each when the one before it is ready, unless podManagementPolicy is Parallel; they go, and are updated, from
the last to the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.apps import ControllerRevision, StatefulSet, StatefulSetStatus, status_json
from shunter.api.core import Pod
from shunter.api.meta import MetadataOnly
from shunter.api.ownership import is_of_former
from shunter.api.resources import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from shunter.cluster.controllers.statefulset import retention
from shunter.cluster.controllers.statefulset.history import Revisions, revision_of, revisions, superfluous
from shunter.cluster.controllers.statefulset.identity import (
    POD_NAME,
    claim_name,
    claims_of,
    identity_labels,
    ordinal,
    ordinals,
    pod_with_identity,
)
from shunter.cluster.controllers.workloads.claiming import Owner, claims, controlled
from shunter.cluster.controllers.workloads.pods import MOST_AT_ONCE, is_available, next_availability, note
from shunter.cluster.controllers.workloads.revisions import template_of
from shunter.kube.controllers.plan import Create, Delete, Patch, Plan, Ref, StatusWrite, Write


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A StatefulSet, the pods and revisions that it controls or could adopt, and the claims of its namespace by name."""

    stateful_set: StatefulSet
    pods: tuple[Pod, ...] = ()
    revisions: tuple[ControllerRevision, ...] = ()
    claims: Mapping[str, MetadataOnly] = {}

    @property
    def owner(self) -> Owner:
        """The StatefulSet as the owner that its pods and revisions name."""
        return Owner(STATEFUL_SETS, self.stateful_set.metadata)


class _Step(NamedTuple):
    """The writes for one pod, and whether all later pods wait for them."""

    writes: tuple[Write, ...] = ()
    waits: bool = False


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now."""
    stateful_set, owner = observed.stateful_set, observed.owner
    named = [pod for pod in observed.pods if owner.controls(pod) or ordinal(stateful_set, pod) is not None]
    adopting = (
        *claims(owner, stateful_set.spec.selector, PODS, named),
        *claims(owner, stateful_set.spec.selector, CONTROLLER_REVISIONS, observed.revisions),
    )
    if adopting:
        return Plan(writes=adopting)
    pods, known = controlled(owner, named), controlled(owner, observed.revisions)
    found = revisions(stateful_set, known)
    status = _status(stateful_set, pods, found, now)
    writes: tuple[Write, ...] = ()
    if stateful_set.metadata.deletion_timestamp is None:
        writes, replaced = _pods(observed, pods, found, now)
        status = msgspec.structs.replace(status, current_replicas=status.current_replicas - replaced)
    return Plan(
        writes=(*found.writes, *writes, *superfluous(stateful_set, known, found, pods)),
        status=StatusWrite.over(
            STATEFUL_SETS, stateful_set.metadata, status_json(stateful_set.status), status_json(_completed(stateful_set, status))
        ),
        requeue_after=next_availability(pods, stateful_set.spec.min_ready_seconds, now),
    )


def _pods(observed: Observed, pods: Sequence[Pod], found: Revisions, now: datetime) -> tuple[tuple[Write, ...], int]:
    """The writes for pods and claims, and how many pods of the current revision they replace."""
    stateful_set = observed.stateful_set
    desired = ordinals(stateful_set)
    by_number = {number: pod for pod in pods if (number := ordinal(stateful_set, pod)) is not None}
    condemned = [by_number[number] for number in sorted(by_number, reverse=True) if number not in desired]
    one_by_one = stateful_set.spec.pod_management_policy != "Parallel"
    unhealthy = _first_unavailable(stateful_set, by_number, now)
    steps = (_replica(observed, found, number, by_number.get(number), one_by_one, now) for number in desired)
    writes, waits = _combined(steps, one_by_one)
    if waits:
        return writes, 0
    for pod in condemned:
        writes += tuple(_kept_claims(observed, pod, condemned=True))
    more, waits = _combined((_removal(observed, pod, unhealthy, one_by_one, now) for pod in condemned), one_by_one)
    writes += more
    if waits or stateful_set.spec.update_strategy.type == "OnDelete":
        return writes, 0
    outdated = _outdated(stateful_set, by_number, found, now)
    return (writes, 0) if outdated is None else ((*writes, _deletion(observed, outdated)), 1)


def _combined(steps: Iterable[_Step], one_by_one: bool) -> tuple[tuple[Write, ...], bool]:
    """Claims before pods, as many as are done at once; up to the first step that the others wait for."""
    writes: list[Write] = []
    for step in steps:
        writes += step.writes
        if step.waits and one_by_one:
            return tuple(writes), True
        if len(writes) >= MOST_AT_ONCE:
            break
    return tuple(sorted(writes, key=lambda write: isinstance(write, Create) and write.resource == PODS)), False


def _replica(observed: Observed, found: Revisions, number: int, pod: Pod | None, one_by_one: bool, now: datetime) -> _Step:
    stateful_set = observed.stateful_set
    if pod is None:
        return _creation(observed, found, number)
    if pod.is_finished:
        return _Step(() if pod.is_leaving else (_deletion(observed, pod),), waits=True)
    writes: tuple[Write, ...] = ()
    if pod.status.phase == "Pending":
        writes = tuple(_missing_claims(observed, number))
    if one_by_one and (pod.is_leaving or not is_available(pod, stateful_set.spec.min_ready_seconds, now)):
        return _Step(writes, waits=True)
    return _Step((*writes, *_identity(observed, pod, number), *_kept_claims(observed, pod, condemned=False)))


def _identity(observed: Observed, pod: Pod, number: int) -> Iterable[Write]:
    """The labels with the name and the number of a pod that lost them."""
    desired = identity_labels(pod.metadata.name, number)
    if pod.metadata.labels.get(POD_NAME) != pod.metadata.name:
        message = _event_text("Update", pod.metadata.name, observed.stateful_set, "successful")
        succeeded = note(observed.owner, "Normal", "SuccessfulUpdate", message)
        yield Patch(ref=Ref.of(PODS, pod.metadata), patch={"metadata": {"labels": desired}}, succeeded=succeeded)


def _creation(observed: Observed, found: Revisions, number: int) -> _Step:
    stateful_set, owner = observed.stateful_set, observed.owner
    name = f"{stateful_set.metadata.name}-{number}"
    new = msgspec.structs.replace(stateful_set.metadata, name=name, uid="")
    present = [one for template in stateful_set.spec.volume_claim_templates if (one := _claim(observed, template, number))]
    if any(is_of_former(claim.metadata, PODS, new) or claim.metadata.deletion_timestamp for claim in present):
        return _Step(waits=True)
    revision = found.current if _keeps_current(stateful_set, number) else found.update
    pod = pod_with_identity(stateful_set, owner, template_of(revision), revision.metadata.name, number)
    creation = Create(
        resource=PODS,
        body=pod,
        succeeded=note(owner, "Normal", "SuccessfulCreate", _event_text("Create", name, stateful_set, "successful")),
        failed=note(owner, "Warning", "FailedCreate", _event_text("Create", name, stateful_set, "failed error: {error}")),
    )
    return _Step((*_missing_claims(observed, number), creation), waits=True)


def _keeps_current(stateful_set: StatefulSet, number: int) -> bool:
    """Whether a pod is made of the revision that the others still have: it is below the partition."""
    strategy, start = stateful_set.spec.update_strategy, stateful_set.spec.ordinals.start
    if strategy.rolling_update is not None:
        return number < start + strategy.rolling_update.partition
    return strategy.type == "RollingUpdate" and number < start + stateful_set.status.current_replicas


def _missing_claims(observed: Observed, number: int) -> Iterable[Write]:
    stateful_set, owner = observed.stateful_set, observed.owner
    pod = f"{stateful_set.metadata.name}-{number}"
    for claim in claims_of(stateful_set, number):
        name = claim["metadata"]["name"]
        if name not in observed.claims:
            words = f"Claim {name} {{}}Pod {pod} in StatefulSet {stateful_set.metadata.name}"
            yield Create(
                resource=PERSISTENT_VOLUME_CLAIMS,
                body=claim,
                succeeded=note(owner, "Normal", "SuccessfulCreate", f"Create {words.format('')} success"),
                failed=note(owner, "Warning", "FailedCreate", f"Create {words.format('for ')} failed error: {{error}}"),
            )


def _kept_claims(observed: Observed, pod: Pod, *, condemned: bool) -> Iterable[Write]:
    """The owners of a pod's claims, corrected."""
    stateful_set = observed.stateful_set
    number = ordinal(stateful_set, pod)
    for template in stateful_set.spec.volume_claim_templates:
        claim = _claim(observed, template, number) if number is not None else None
        patch = retention.correction(stateful_set, claim, pod, condemned=condemned) if claim is not None else None
        if patch is not None:
            yield patch


def _claim(observed: Observed, template: dict[str, object], number: int) -> MetadataOnly | None:
    return observed.claims.get(claim_name(template, observed.stateful_set, number))


def _removal(observed: Observed, pod: Pod, unhealthy: Pod | None, one_by_one: bool, now: datetime) -> _Step:
    """Scaling down goes on when the pod before is gone and this one is healthy, or the first that is not."""
    if pod.is_leaving:
        return _Step(waits=True)
    seconds = observed.stateful_set.spec.min_ready_seconds
    if one_by_one and pod is not unhealthy and not is_available(pod, seconds, now):
        return _Step(waits=True)
    return _Step((_deletion(observed, pod),), waits=True)


def _outdated(stateful_set: StatefulSet, by_number: Mapping[int, Pod], found: Revisions, now: datetime) -> Pod | None:
    """The pod to replace next: the last with another revision, once all after it are available."""
    rolling = stateful_set.spec.update_strategy.rolling_update
    desired = ordinals(stateful_set)[rolling.partition if rolling is not None else 0 :]
    for number in reversed(desired):
        pod = by_number.get(number)
        if pod is None:
            return None
        if revision_of(pod) != found.update.metadata.name and not pod.is_leaving:
            return pod
        if pod.is_leaving or not is_available(pod, stateful_set.spec.min_ready_seconds, now):
            return None
    return None


def _first_unavailable(stateful_set: StatefulSet, by_number: Mapping[int, Pod], now: datetime) -> Pod | None:
    """The first pod that is not available, among the pods that there should be, then among the others."""
    desired = ordinals(stateful_set)
    if any(number not in by_number for number in desired):
        return None
    for number in sorted(by_number, key=lambda one: (one not in desired, one)):
        pod = by_number[number]
        if pod.is_leaving or not is_available(pod, stateful_set.spec.min_ready_seconds, now):
            return pod
    return None


def _deletion(observed: Observed, pod: Pod) -> Delete:
    owner, name = observed.owner, pod.metadata.name
    return Delete(
        ref=Ref.of(PODS, pod.metadata),
        succeeded=note(owner, "Normal", "SuccessfulDelete", _event_text("Delete", name, observed.stateful_set, "successful")),
        failed=note(
            owner, "Warning", "FailedDelete", _event_text("Delete", name, observed.stateful_set, "failed error: {error}")
        ),
    )


def _event_text(verb: str, pod: str, stateful_set: StatefulSet, result: str) -> str:
    return f"{verb} Pod {pod} in StatefulSet {stateful_set.metadata.name} {result}"


def _status(stateful_set: StatefulSet, pods: Sequence[Pod], found: Revisions, now: datetime) -> StatefulSetStatus:
    current, update = found.current.metadata.name, found.update.metadata.name
    created = [pod for pod in pods if pod.status.phase]
    ready = [pod for pod in created if pod.status.phase == "Running" and pod.is_ready]
    staying = [revision_of(pod) for pod in created if not pod.is_leaving]
    return StatefulSetStatus(
        observed_generation=stateful_set.metadata.generation,
        replicas=len(created),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, stateful_set.spec.min_ready_seconds, now) for pod in ready),
        current_replicas=staying.count(current),
        updated_replicas=staying.count(update),
        current_revision=current,
        update_revision=update,
        collision_count=found.collisions,
    )


def _completed(stateful_set: StatefulSet, status: StatefulSetStatus) -> StatefulSetStatus:
    """After a rolling update the updated revision is the current one."""
    if stateful_set.spec.update_strategy.type != "RollingUpdate":
        return status
    if not status.updated_replicas == status.ready_replicas == status.replicas == stateful_set.spec.replicas:
        return status
    return msgspec.structs.replace(status, current_replicas=status.updated_replicas, current_revision=status.update_revision)
