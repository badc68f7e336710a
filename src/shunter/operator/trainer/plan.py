"""The plan for a TrainJob: its snapshot, its JobSet and its status as they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from shunter.api.core import Pod
from shunter.api.formats.counts import joined
from shunter.api.meta import Condition, Json, MetadataOnly, ObjectMeta, condition_of, stamp, true_condition
from shunter.api.resources import CONFIG_MAPS, JOBSETS, SECRETS, TRAIN_JOBS, Resource
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.trainer.trainjob import MANAGED_BY_US, TrainJob, TrainJobStatus
from shunter.kube.controllers.plan import NOTHING, Apply, Create, Delete, Failure, Note, Patch, Plan, Ref, StatusWrite, Write
from shunter.operator.trainer import deadline, resumption, ttl
from shunter.operator.trainer.failures import with_failures
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.obstacles import CREATED, GOES_ON, not_created, not_installed, refused, unbuildable
from shunter.operator.trainer.plugin import Companion
from shunter.operator.trainer.plugins import COMPANIONS
from shunter.operator.trainer.plugins.pod_group import is_as_desired
from shunter.operator.trainer.render import Rendered, owned, rendered
from shunter.operator.trainer.runtime_spec import runtime_spec
from shunter.operator.trainer.snapshot import KINDS, as_go_writes, not_found, runtime_in, snapshot_of
from shunter.operator.trainer.status import (
    COMPLETE,
    FAILED,
    SUSPENDED,
    has_missed_deadline,
    is_finished,
    jobs_status,
    status_json,
    with_condition,
    with_only,
    with_outcome,
    with_suspension,
    without_retryable_failure,
)
from shunter.operator.trainer.statusserver.place import StatusServerPlace
from shunter.operator.trainer.stored_lists import with_stored_lists
from shunter.operator.trainer.views import ConfigMap, JobOfSet, LiveJobSet

FIELD_MANAGER = "trainer"
LONGEST_CAUSE = 950
"""Characters of an error that go into an event."""
CERTIFICATE_SECONDS = 1.0
"""Until a job is reconciled again while the status server has no certificate yet, just after the operator has started."""


Present = ConfigMap | MetadataOnly | PodGroup
"""A job's companion as it is cached: of Secrets only the metadata."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A job, the present runtime it refers to, its snapshot, its JobSet and what it may have beside it, as far as they exist."""

    job: TrainJob
    runtime: Json | None = None
    snapshot: ConfigMap | None = None
    jobset: LiveJobSet | None = None
    jobs: tuple[JobOfSet, ...] = ()
    """The Jobs that the JobSet controls."""
    failed_pods: tuple[Pod, ...] = ()
    """Pods of the job in which something failed."""
    companions: Mapping[Companion, Present] = {}
    uninstalled: frozenset[Resource] = frozenset()
    """Kinds that the cluster does not serve."""
    randomness: bytes = b""
    """From the system's source; what is secret is made of it."""
    status_server: StatusServerPlace | None = None
    """Where pods report their progress; without authorities until its certificate is there."""

    @property
    def own_jobset(self) -> LiveJobSet | None:
        """The JobSet, unless another object controls it."""
        owner = self.jobset.metadata.controller if self.jobset else None
        return self.jobset if owner is None or owner.uid == self.job.metadata.uid else None

    @property
    def is_preceded(self) -> bool:
        """Whether the JobSet is that of an earlier job of this name, which garbage collection has not reached yet."""
        return self.jobset is not None and self.own_jobset is None and _is_of_trainjob(self.jobset.metadata)

    @property
    def resumed_jobset(self) -> LiveJobSet | None:
        """The JobSet, if the job should run and the JobSet is suspended or being deleted."""
        jobset = self.own_jobset
        if jobset is None or self.job.spec.suspend or self.job.metadata.deletion_timestamp is not None:
            return None
        return jobset if jobset.spec.suspend or jobset.metadata.deletion_timestamp is not None else None

    def outgrown_jobset(self, desired: Rendered) -> LiveJobSet | None:
        """The JobSet, if the job's number of nodes has changed since it was created."""
        jobset = self.own_jobset
        if jobset is None or jobset.metadata.deletion_timestamp is not None:
            return None
        return jobset if resumption.has_other_nodes(self.job, jobset, desired.jobset) else None


def plan(observed: Observed, now: datetime) -> Plan:
    """What the operator writes about this job now, with what failed in its pods, also while it is being deleted: what ends with
    the deletion of its pod is no failure."""
    return with_failures(observed.job, observed.own_jobset, observed.failed_pods, _plan(observed, now))


def _plan(observed: Observed, now: datetime) -> Plan:
    job = observed.job
    if job.spec.managed_by not in (None, MANAGED_BY_US):
        return NOTHING
    if job.metadata.deletion_timestamp is not None:
        return _leaving(observed, now)
    reference = job.spec.runtime_ref
    if (reference.kind, reference.api_group) not in KINDS:
        return Plan(status=_status_write(job, _unsupported(job, _stamp(job, now))))
    status, remaining = _status(observed, None, now)
    if is_finished(status):
        return Plan(writes=_stopped(observed, status), status=_status_write(job, status))
    if observed.is_preceded:
        return Plan(status=_status_write(job, status), requeue_after=remaining)
    if ttl.failed_for_good(job, observed.own_jobset, observed.snapshot):
        return Plan(status=_status_write(job, _last_status(observed, now)))
    suspension = _suspension(observed)
    if observed.status_server is not None and not observed.status_server.authorities:
        return Plan(writes=suspension, status=_status_write(job, status), requeue_after=CERTIFICATE_SECONDS)
    try:
        desired = None if JOBSETS in observed.uninstalled else _desired(observed)
    except BuildError as error:
        obstacle = unbuildable(job, error, has_snapshot=observed.snapshot is not None)
        return _held_up(observed, obstacle, error.message, now)
    missing = _missing_kind(observed, desired)
    if missing is not None:
        obstacle = not_installed(missing)
        is_new = condition_of(job.status.conditions, obstacle.type) is None
        return _held_up(observed, obstacle, obstacle.message if is_new else "", now)
    assert desired is not None
    outgrown = observed.outgrown_jobset(desired)
    if outgrown is not None and outgrown.spec.volume_claim_policies:
        return _held_up(observed, resumption.claims_condition(outgrown), "", now)
    kept = () if job.spec.suspend else resumption.kept_placement(observed.jobs, desired.jobset)
    writes, waiting = _replacement(observed, outgrown) if outgrown is not None else _jobset_writes(observed, desired, kept)
    is_renewed = outgrown is not None and any(isinstance(write, Delete) for write in writes)
    status, remaining = _status(observed, None, now, waiting=waiting)
    status = _with_placement(observed, status, kept if not waiting else (), now)
    return Plan(
        writes=(*suspension, *_other_writes(observed, desired, is_stopped=bool(job.spec.suspend) or is_renewed), *writes),
        status=_status_write(job, status),
        may_status_wait=observed.own_jobset is None,
        requeue_after=remaining,
    )


def _leaving(observed: Observed, now: datetime) -> Plan:
    """The plan for a job that is being deleted and that a finalizer holds: its present status, as what holds it may wait for its
    end, and the suspension or deletion of its JobSet if it is due. Nothing is created, and it is not resumed."""
    job = observed.job
    obstacle = condition_of(job.status.conditions, CREATED)
    status, remaining = _status(observed, obstacle, now, keeps_suspension=not job.spec.suspend)
    writes = _stopped(observed, status) if is_finished(status) else _suspension(observed)
    return Plan(writes=writes, status=_status_write(job, status), requeue_after=remaining)


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """An object was refused: an event and a condition report it, and the rest of the status is kept up to date."""
    return with_failures(observed.job, observed.own_jobset, observed.failed_pods, _plan_failure(observed, failure, now))


def _plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    event = _creation_failed(observed.job, failure.message)
    if isinstance(failure.write, StatusWrite):
        return Plan(events=(event,))
    is_not_suspended = isinstance(failure.write, Patch)
    status, _ = _status(observed, refused(failure), now, keeps_suspension=is_not_suspended)
    return Plan(status=_status_write(observed.job, status), events=(event,))


def _held_up(observed: Observed, obstacle: Condition, event_text: str, now: datetime) -> Plan:
    """Nothing can be created: the status says why, and an event if there is a text for one."""
    status, remaining = _status(observed, obstacle, now)
    events = (_creation_failed(observed.job, event_text),) if event_text else ()
    return Plan(writes=_suspension(observed), status=_status_write(observed.job, status), events=events, requeue_after=remaining)


def _desired(observed: Observed) -> Rendered:
    job, runtime = observed.job, observed.runtime
    if observed.snapshot is not None:
        return rendered(job, runtime_in(job, observed.snapshot), observed.status_server)
    if runtime is None:
        raise not_found(job)
    runtime_spec(runtime)
    return rendered(job, as_go_writes(runtime), observed.status_server)


def _missing_kind(observed: Observed, desired: Rendered | None) -> Resource | None:
    if desired is None:
        return JOBSETS
    kinds = {(body["apiVersion"], body["kind"]) for body in desired.objects}
    return next((resource for resource in sorted(observed.uninstalled) if (resource.api_version, resource.kind) in kinds), None)


def _suspension(observed: Observed) -> tuple[Write, ...]:
    """Suspends the JobSet before all other writes: even if those are refused, a suspended job must not keep its pods."""
    jobset = observed.own_jobset
    if jobset is None or not observed.job.spec.suspend or jobset.spec.suspend or jobset.metadata.deletion_timestamp is not None:
        return ()
    return (_stop(jobset),)


def _jobset_writes(observed: Observed, desired: Rendered, kept: Sequence[str]) -> tuple[tuple[Write, ...], str]:
    """The writes of the JobSet, and what a job to be resumed waits for. A running JobSet is never changed. A suspended one is
    resumed once nothing runs, and recreated if it would keep placements and nothing is lost."""
    job, jobset = observed.job, observed.own_jobset
    if jobset is None:
        return (_apply(JOBSETS, desired.jobset),), ""
    if observed.resumed_jobset is not None:
        if waiting := _waiting(observed):
            return (), waiting
        if kept and not resumption.losses(jobset, observed.jobs):
            deletion = Delete(ref=Ref.of(JOBSETS, jobset.metadata), propagation="Foreground")
            return (deletion,), resumption.waiting(jobset, f"its JobSet is recreated, as it would keep {joined(kept)}")
    elif not job.spec.suspend or jobset.metadata.deletion_timestamp is not None:
        return (), ""
    return (_apply(JOBSETS, with_stored_lists(desired.jobset, jobset)),), ""


def _replacement(observed: Observed, jobset: LiveJobSet) -> tuple[tuple[Write, ...], str]:
    """Suspends a JobSet with another number of nodes, and deletes it once its pods are gone, so that the next reconcile creates
    one with the new number. Its restarts count from 0 again."""
    job = observed.job
    if not jobset.spec.suspend:
        stop = () if job.spec.suspend else (_stop(jobset),)
        return stop, "" if job.spec.suspend else resumption.waiting(jobset, "it gets another number of nodes")
    if why := resumption.waits_for(jobset, observed.jobs):
        return (), "" if job.spec.suspend else resumption.waiting(jobset, why)
    deletion = Delete(ref=Ref.of(JOBSETS, jobset.metadata), propagation="Foreground")
    return (deletion,), "" if job.spec.suspend else resumption.waiting(
        jobset, "its JobSet is recreated for another number of nodes"
    )


def _stop(jobset: LiveJobSet) -> Patch:
    return Patch(ref=Ref.of(JOBSETS, jobset.metadata), patch={"spec": {"suspend": True}})


def _waiting(observed: Observed) -> str:
    """What a job that is to be resumed waits for; empty when it need not wait."""
    jobset = observed.resumed_jobset
    if jobset is None:
        return ""
    why = resumption.waits_for(jobset, observed.jobs)
    return resumption.waiting(jobset, why) if why else ""


def _other_writes(observed: Observed, desired: Rendered, *, is_stopped: bool) -> tuple[Write, ...]:
    """The snapshot if there is none, and what is not as it should be beside the JobSet. `is_stopped`: PodGroups may change."""
    job = observed.job
    writes: list[Write] = []
    if observed.snapshot is None:
        assert observed.runtime is not None
        writes.append(_apply(CONFIG_MAPS, owned(job, snapshot_of(job, observed.runtime))))
    present = {(companion.resource, companion.name(job)): view for companion, view in observed.companions.items()}
    resources = {(companion.resource.api_version, companion.resource.kind): companion.resource for companion in COMPANIONS}
    for body in desired.objects:
        resource = resources[body["apiVersion"], body["kind"]]
        if _is_due(body, present.get((resource, body["metadata"]["name"])), is_stopped=is_stopped):
            writes.append(_apply(resource, body))
    for companion, make in desired.secrets.items():
        if companion not in observed.companions:
            writes.append(Create(resource=SECRETS, body=make(observed.randomness)))
    return tuple(writes)


def _is_due(desired: Json, present: Present | None, *, is_stopped: bool) -> bool:
    """Whether to write an object beside the JobSet. A PodGroup is not changed while the job runs; the write of one that another
    kind of object controls is refused by the API server, which reports it."""
    match present:
        case ConfigMap(data=data):
            return not desired["data"].items() <= (data or {}).items()
        case PodGroup(metadata=metadata, spec=spec):
            is_foreign = metadata.controller is not None and not _is_of_trainjob(metadata)
            return is_foreign or (is_stopped and not is_as_desired(desired["spec"], spec))
        case _:
            return True


def _is_of_trainjob(metadata: ObjectMeta) -> bool:
    return metadata.controller is not None and metadata.controller.kind == TRAIN_JOBS.kind


def _apply(resource: Resource, body: Json) -> Apply:
    return Apply(resource=resource, body=body, field_manager=FIELD_MANAGER)


def _status(
    observed: Observed, obstacle: Condition | None, now: datetime, *, waiting: str = "", keeps_suspension: bool = False
) -> tuple[TrainJobStatus, float | None]:
    """The status, and the seconds until the deadline of an unfinished job. `obstacle` is what blocks the job, `waiting` why it is
    not resumed yet. `keeps_suspension`: the condition Suspended stays, as its JobSet could not be suspended."""
    job, jobset, status = observed.job, observed.own_jobset, observed.job.status
    now = _stamp(job, now)
    conditions = without_retryable_failure(status.conditions)
    waiting = waiting or _waiting(observed)
    if not keeps_suspension:
        conditions = with_suspension(conditions, bool(job.spec.suspend), now, waiting=waiting)
    if waiting and obstacle is None and true_condition(conditions, SUSPENDED) is None:
        obstacle = not_created("WaitingForPods", f"{waiting}; {GOES_ON}")
    conditions = with_only(conditions, CREATED, obstacle, now)
    counters = status.jobs_status
    if jobset is not None:
        counters = jobs_status(jobset.status.replicated_jobs_status)
        if not has_missed_deadline(status):
            conditions = with_outcome(conditions, jobset, now)
    remaining = None
    if true_condition(conditions, FAILED) is None and true_condition(conditions, COMPLETE) is None:
        remaining = deadline.remaining(job, conditions, now)
        if remaining is not None and remaining <= 0:
            conditions, remaining = with_condition(conditions, deadline.EXCEEDED, now), None
    return msgspec.structs.replace(status, conditions=conditions, jobs_status=counters), remaining


def _last_status(observed: Observed, now: datetime) -> TrainJobStatus:
    """The present status with the outcome of the JobSet, if that still exists."""
    status, jobset = observed.job.status, observed.own_jobset
    if jobset is None:
        return status
    conditions = with_outcome(status.conditions, jobset, _stamp(observed.job, now))
    return msgspec.structs.replace(status, conditions=conditions, jobs_status=jobs_status(jobset.status.replicated_jobs_status))


def _with_placement(observed: Observed, status: TrainJobStatus, kept: Sequence[str], now: datetime) -> TrainJobStatus:
    """Says what the pods of a job that was suspended keep of earlier placements; nothing once the job has ended."""
    jobset, condition = observed.own_jobset, None
    was_suspended = condition_of(status.conditions, SUSPENDED) is not None
    if kept and was_suspended and jobset is not None and not is_finished(status):
        condition = resumption.keeps_placement(jobset, kept, resumption.losses(jobset, observed.jobs) or "it runs")
    conditions = with_only(status.conditions, resumption.KEPT_PLACEMENT, condition, _stamp(observed.job, now))
    return msgspec.structs.replace(status, conditions=conditions)


def _stamp(job: TrainJob, now: datetime) -> datetime:
    conditions = job.status.conditions
    return stamp(now, [job.metadata.creation_timestamp, *(condition.last_transition_time for condition in conditions)])


def _stopped(observed: Observed, status: TrainJobStatus) -> tuple[Write, ...]:
    """A job that missed its deadline loses its JobSet, also when that failed the first time."""
    jobset = observed.jobset
    if jobset is None or not has_missed_deadline(status) or jobset.metadata.deletion_timestamp is not None:
        return ()
    if not jobset.metadata.is_controlled_by(observed.job.metadata.uid):
        return ()
    return (Delete(ref=Ref.of(JOBSETS, jobset.metadata)),)


def _unsupported(job: TrainJob, now: datetime) -> TrainJobStatus:
    """The status of a job that passed admission with an unknown kind of runtime."""
    reference = job.spec.runtime_ref
    condition = Condition(
        type=FAILED,
        status="True",
        reason="TrainingRuntimeNotSupported",
        message=f"unsupported runtime: {reference.kind}.{reference.api_group}",
    )
    return msgspec.structs.replace(job.status, conditions=with_condition(job.status.conditions, condition, now))


def _creation_failed(job: TrainJob, cause: str) -> Note:
    shown = cause if len(cause) <= LONGEST_CAUSE else f"{cause[:LONGEST_CAUSE]} ..."
    return Note(
        regarding=Ref.of(TRAIN_JOBS, job.metadata),
        type="Warning",
        reason="TrainJobResourcesCreationFailed",
        message=f"TrainJob resources reconciliation failed: {shown}",
    )


def _status_write(job: TrainJob, status: TrainJobStatus) -> StatusWrite:
    return StatusWrite(ref=Ref.of(TRAIN_JOBS, job.metadata), observed=status_json(job.status), desired=status_json(status))
