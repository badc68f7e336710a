"""Gang scheduling: a PodGroup for each job, which its pods belong to. Off unless the operator names a gang scheduler.

`volcano` means Volcano, which lets pods be made once it has accepted the group; any other name means scheduler-plugins'
coscheduling, under that scheduler's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction

import msgspec

from shunter.api.core import Pod
from shunter.api.formats.quantity import format_milli, is_binary, parse
from shunter.api.meta import Json, condition_of
from shunter.api.resources import Resource
from shunter.api.scheduling.podgroups import (
    COSCHEDULING_GROUP,
    COSCHEDULING_POD_GROUPS,
    POD_GROUP_MISSING,
    VOLCANO_GROUP_NAME,
    VOLCANO_POD_GROUPS,
    VOLCANO_SCHEDULER,
    VOLCANO_TASK,
    WAITING_FOR_POD_GROUP,
    PodGroup,
)
from shunter.api.training.job import SchedulingPolicy
from shunter.kube.controllers.plan import Create, Delete, Note, Patch, Ref, Write
from shunter.kube.merge_patch import difference
from shunter.operator.training.job import AnyJob
from shunter.operator.training.progress import Progress

VOLCANO_DEFAULT_QUEUE = "default"
ANOTHER_SCHEDULER = "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
INSTALLABLE = {VOLCANO_POD_GROUPS: "Volcano", COSCHEDULING_POD_GROUPS: "scheduler-plugins' coscheduling"}


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """What gang scheduling knows of one job: the scheduler, and the PodGroup of the job's name if there is one."""

    scheduler: str
    group: PodGroup | None = None
    is_served: bool = True
    """Whether the cluster serves PodGroups of this scheduler, as far as is known."""

    @property
    def is_volcano(self) -> bool:
        """Whether the scheduler is called `volcano`; any other name means coscheduling."""
        return self.scheduler == VOLCANO_SCHEDULER

    @property
    def resource(self) -> Resource:
        """The kind of PodGroup that the scheduler reads, served by the cluster or not."""
        return pod_groups(self.scheduler)


def pod_groups(scheduler: str) -> Resource:
    """The PodGroups that a gang scheduler reads."""
    return VOLCANO_POD_GROUPS if scheduler == VOLCANO_SCHEDULER else COSCHEDULING_POD_GROUPS


def obstacle(job: AnyJob, gang: Gang) -> str:
    """Why the job can have no PodGroup, and what to do about it; empty when nothing stands in the way."""
    resource = gang.resource
    kind = resource.full_name
    if not gang.is_served:
        return (
            f"the cluster does not serve {kind} ({resource.version}), which gang scheduling by {gang.scheduler} needs. "
            f"Install {INSTALLABLE[resource]}, or start the operator without --gang-scheduler-name."
        )
    owner = gang.group.metadata.controller if gang.group else None
    if owner is not None and owner.uid != job.metadata.uid:
        return f"PodGroup {job.name} ({kind}) belongs to {owner.kind} {owner.name}. Delete that one, or name this job otherwise."
    return ""


def without_group(progress: Progress, job: AnyJob, obstacle: str) -> Progress:
    """The condition Created says why the job cannot start, and an event reports it once."""
    message = f"{job.kind} {job.name} is created. Its pods wait: {obstacle}"
    reason = progress.reason(POD_GROUP_MISSING)
    is_news = all(condition.message != message for condition in progress.observed.conditions)
    progress = _created(progress, reason, message)
    return progress.note("Warning", reason, message) if is_news else progress


def waiting_for_group(progress: Progress, job: AnyJob, group: PodGroup, pods: Iterable[Pod]) -> Progress:
    """The condition Created says that pods are missing until the scheduler admits their group, and how many members exist. An
    event reports when the wait begins."""
    members = sum(1 for pod in pods if pod.status.phase in ("Running", "Succeeded") and not pod.is_leaving)
    phase = "Terminating" if group.metadata.deletion_timestamp else group.status.phase or "Pending"
    waits = f"waits for PodGroup {job.name}: {phase}, {members} of {group.spec.get('minMember', job.total_replicas)}"
    is_news = all(condition.reason != WAITING_FOR_POD_GROUP for condition in progress.observed.conditions)
    progress = _created(progress, WAITING_FOR_POD_GROUP, f"{job.kind} {job.name} is created. It {waits}")
    return progress.note("Normal", WAITING_FOR_POD_GROUP, f"{job.kind} {job.name} {waits}") if is_news else progress


def gang_ready(progress: Progress, job: AnyJob) -> Progress:
    """Without a PodGroup in the condition Created."""
    reasons = (progress.reason(POD_GROUP_MISSING), WAITING_FOR_POD_GROUP)
    if all(condition.reason not in reasons for condition in progress.conditions):
        return progress
    return _created(progress, progress.reason("Created"), f"{job.kind} {job.name} is created.")


def _created(progress: Progress, reason: str, message: str) -> Progress:
    """With these words in the condition Created, where it stands: the last condition is what `kubectl get` shows."""
    observed = condition_of(progress.observed.conditions, "Created")
    if observed is not None and (observed.reason, observed.message) == (reason, message):
        return progress.replaced(observed)
    created = condition_of(progress.conditions, "Created")
    if created is None:
        return progress
    return progress.replaced(msgspec.structs.replace(created, reason=reason, message=message, last_update_time=progress.now))


def synced(job: AnyJob, gang: Gang) -> list[Write]:
    """Creates the PodGroup, or updates the fields that the job decides. One that is being deleted is left alone."""
    group = gang.group
    if group is None:
        return [_creation(job, gang)]
    if group.metadata.deletion_timestamp is not None:
        return []
    patch = difference(group.spec, desired_spec(job, gang))
    ref = Ref(gang.resource, job.namespace, job.name, group.metadata.uid)
    refused = job.note("Warning", "FailedUpdatePodGroup", "Error updating: {error}")
    return [Patch(ref=ref, patch={"spec": patch}, failed=refused)] if patch else []


def holds_pods(gang: Gang) -> bool:
    """Whether pods have to wait: for the group, and for Volcano until that has accepted it."""
    group = gang.group
    if group is None or group.metadata.deletion_timestamp is not None:
        return True
    return gang.is_volcano and group.status.phase in ("", "Pending")


def member(pod: Json, job: AnyJob, replica_type: str, gang: Gang) -> Json:
    """The pod as a member of the job's group. A scheduler that its template names stays."""
    metadata = pod["metadata"]
    if gang.is_volcano:
        annotations = {
            **(metadata.get("annotations") or {}),
            VOLCANO_GROUP_NAME: job.name,
            VOLCANO_TASK: replica_type.lower(),
        }
        metadata = {**metadata, "annotations": annotations}
    else:
        metadata = {**metadata, "labels": {**metadata["labels"], COSCHEDULING_GROUP: job.name}}
    scheduler = pod["spec"].get("schedulerName") or gang.scheduler
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "schedulerName": scheduler}}


def names_another_scheduler(job: AnyJob, gang: Gang) -> bool:
    """Whether a template of the job names a scheduler that is not the gang's."""
    named = (_pod_spec(job, role).get("schedulerName") for role in job.replicas)
    return any(name and name != gang.scheduler for name in named)


def release(job: AnyJob, gang: Gang, *, is_news: bool) -> tuple[list[Delete], tuple[Note, ...]]:
    """The deletion of the job's own group, and events about it. As upstream, without a group the events are recorded too, if the
    job's state `is_news`."""
    terminated = job.note("Normal", "JobTerminated", "Job has been terminated. Deleting PodGroup")
    deleted = job.note("Normal", "SuccessfulDeletePodGroup", f"Deleted PodGroup: {job.name}")
    group = gang.group
    if group is None or not group.metadata.is_controlled_by(job.metadata.uid):
        return [], (terminated, deleted) if is_news else ()
    if group.metadata.deletion_timestamp is not None:
        return [], ()
    refused = job.note("Warning", "FailedDeletePodGroup", "Error deleting: {error}")
    ref = Ref(gang.resource, job.namespace, job.name, group.metadata.uid)
    return [Delete(ref=ref, succeeded=deleted, failed=refused)], (terminated,)


def desired_spec(job: AnyJob, gang: Gang) -> Json:
    """The spec of the group: what the job says, and what is there of fields that it says nothing about."""
    policy = job.run_policy.scheduling_policy or SchedulingPolicy()
    members = job.total_replicas if policy.min_available is None else policy.min_available
    resources = policy.min_resources or least_resources(job, members)
    before = gang.group.spec if gang.group else {}
    decided: Json = {"minMember": members, "minResources": resources}
    if gang.is_volcano:
        # A queue can be changed on the group, and then stays.
        decided["queue"] = before.get("queue") or policy.queue or VOLCANO_DEFAULT_QUEUE
        decided["priorityClassName"] = policy.priority_class or None
    else:
        decided["minResources"] = resources or None
        decided["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
    if _same_resources(before.get("minResources"), resources):
        decided["minResources"] = before.get("minResources")
    return {field: value for field, value in {**before, **decided}.items() if value is not None}


def least_resources(job: AnyJob, members: int) -> Json:
    """What the containers of the first `members` pods request together: limits count where a container requests nothing at all,
    init containers and overhead do not count. What is no quantity is left out: the API server refuses such pods, and says
    why."""
    total: dict[str, tuple[Fraction, bool]] = {}
    for role in job.replicas:
        pods = min(job.replica_count(role), members)
        members -= pods
        for name, quantity in _requested(_pod_spec(job, role).get("containers") or []) if pods > 0 else ():
            with suppress(ValueError):
                each = parse(quantity)
                amount, binary = total.get(name, (Fraction(0), is_binary(quantity)))
                total[name] = amount + pods * each, binary
    return {name: format_milli(amount, binary=binary) for name, (amount, binary) in total.items()}


def _requested(containers: Iterable[Json]) -> Iterable[tuple[str, str]]:
    for container in containers:
        resources = container.get("resources") or {}
        requests = resources.get("requests")
        yield from (resources.get("limits") or {} if requests is None else requests).items()


def _same_resources(before: Json | None, desired: Json) -> bool:
    """Whether two lists of resources are the same amounts, however written."""
    return (
        before is not None
        and before.keys() == desired.keys()
        and all(parse(before[name]) == parse(desired[name]) for name in desired)
    )


def _creation(job: AnyJob, gang: Gang) -> Create:
    metadata: Json = {"name": job.name, "namespace": job.namespace, "ownerReferences": [job.owner_reference]}
    if job.metadata.annotations:
        metadata["annotations"] = job.metadata.annotations
    body = gang.resource.typed({"metadata": metadata, "spec": desired_spec(job, gang)})
    return Create(
        resource=gang.resource, body=body, failed=job.note("Warning", "FailedCreatePodGroup", "Error creating: {error}")
    )


def _pod_spec(job: AnyJob, role: str) -> Json:
    return job.replicas[role].template.get("spec") or {}
