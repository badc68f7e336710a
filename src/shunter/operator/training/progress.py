"""The status that one plan builds up for a job, and its events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shunter.api.meta import as_json, condition_of, stamp
from shunter.api.rank_failures import RankFailures
from shunter.api.training.job import JobCondition, JobStatus, ReplicaStatus
from shunter.kube.controllers.plan import EventType, Note, Ref, StatusLogLine, StatusWrite
from shunter.operator.training.conditions import Conditions, with_condition
from shunter.operator.training.job import AnyJob


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Grows step by step through a plan; every step gives a new value."""

    ref: Ref
    kind: str
    now: datetime
    """In whole seconds, and never before what the status says already."""
    resource_version: str
    observed: JobStatus
    status: JobStatus
    events: tuple[Note, ...] = ()
    last_lines: tuple[StatusLogLine, ...] = ()

    @classmethod
    def of(cls, job: AnyJob, now: datetime) -> Progress:
        """The beginning of a plan: the status as it is stored, no events."""
        status = job.status
        moments = (status.start_time, status.completion_time, *(one.last_transition_time for one in status.conditions))
        return cls(
            ref=job.ref,
            kind=job.kind,
            now=stamp(now, moments),
            resource_version=job.metadata.resource_version,
            observed=job.status,
            status=job.status,
        )

    @property
    def conditions(self) -> Conditions:
        """The conditions in the plan so far; the last one is the job's state."""
        return self.status.conditions

    @property
    def is_failed(self) -> bool:
        """Whether the condition Failed is True by now, be it from this plan."""
        return self.status.is_true("Failed")

    @property
    def has_more_failures(self) -> bool:
        """Whether more pods of a role have failed than the stored status says."""
        known = self.observed.replica_statuses
        return any(
            count.failed > (known[role].failed if role in known else 0) for role, count in self.status.replica_statuses.items()
        )

    def condition(self, type: str, message: str, *, cause: str = "", status: str = "True") -> Progress:
        """With this condition; its reason is `KIND` and the cause, which is the type when not given: `PyTorchJobRunning`."""
        conditions = with_condition(self.conditions, type, self.reason(cause or type), message, self.now, status=status)
        return self._with_status(msgspec.structs.replace(self.status, conditions=conditions))

    def replaced(self, condition: JobCondition) -> Progress:
        """With this condition in the place of the one of its type."""
        conditions = tuple(condition if other.type == condition.type else other for other in self.conditions)
        return self._with_status(msgspec.structs.replace(self.status, conditions=conditions))

    def without(self, type: str) -> Progress:
        """Without the condition of this type."""
        kept = tuple(condition for condition in self.conditions if condition.type != type)
        return self._with_status(msgspec.structs.replace(self.status, conditions=kept))

    def with_stored_times(self) -> Progress:
        """With the conditions as they are stored if they differ in nothing but their times."""
        stored = self.observed.conditions
        if list(map(_without_times, stored)) != list(map(_without_times, self.conditions)):
            return self
        return self._with_status(msgspec.structs.replace(self.status, conditions=stored))

    def event(self, type: EventType, cause: str, message: str) -> Progress:
        """With an event whose reason is `KIND` and the cause."""
        return self.note(type, self.reason(cause), message)

    def note(self, type: EventType, reason: str, message: str) -> Progress:
        """With an event whose reason is written as it is given, without `KIND`."""
        return self.notes((Note(regarding=self.ref, type=type, reason=reason, message=message),))

    def notes(self, notes: tuple[Note, ...]) -> Progress:
        """Returns a copy with these events appended."""
        return msgspec.structs.replace(self, events=(*self.events, *notes))

    def started(self, at: datetime | None = None) -> Progress:
        """With this time, now when not given, as the start of the job."""
        return self._with_status(msgspec.structs.replace(self.status, start_time=at or self.now))

    def held_back(self) -> Progress:
        """With now as the time at which pod creation was held back."""
        return self._with_status(msgspec.structs.replace(self.status, last_reconcile_time=self.now))

    def completed(self) -> Progress:
        """With now as the end of the job, if it has none yet."""
        return self._with_status(msgspec.structs.replace(self.status, completion_time=self.status.completion_time or self.now))

    def created(self, name: str) -> Progress:
        """With the condition Created, which every job starts with."""
        created = condition_of(self.conditions, "Created")
        if self.conditions and (created is None or created.is_true):
            return self
        return self.condition("Created", f"{self.kind} {name} is created.")

    def failed(self, message: str, event_type: EventType) -> Progress:
        """The job has failed for good."""
        return self.event(event_type, "Failed", message).completed().condition("Failed", message)

    def counts(self, replica_statuses: Mapping[str, ReplicaStatus]) -> Progress:
        """With these counters in place of all that the status has."""
        return self._with_status(msgspec.structs.replace(self.status, replica_statuses=dict(replica_statuses)))

    def with_failures(self, record: RankFailures | None, last_lines: tuple[StatusLogLine, ...]) -> Progress:
        """With the record, and the log lines to read for it."""
        progress = self._with_status(msgspec.structs.replace(self.status, rank_failures=record))
        return msgspec.structs.replace(progress, last_lines=last_lines)

    @property
    def has_new_failures(self) -> bool:
        """Whether the record of what failed is not what is stored."""
        return self.status.rank_failures != self.observed.rank_failures

    def reason(self, cause: str) -> str:
        """`PyTorchJobRunning` for `Running`."""
        return f"{self.kind}{cause}"

    @property
    def status_write(self) -> StatusWrite:
        """The status of now, to be written over the version that was read; where both are equal the executor sends nothing."""
        return StatusWrite(
            ref=self.ref,
            observed=as_json(self.observed),
            desired=as_json(self.status),
            resource_version=self.resource_version,
            last_lines=self.last_lines,
        )

    def _with_status(self, status: JobStatus) -> Progress:
        return msgspec.structs.replace(self, status=status)


def _without_times(condition: JobCondition) -> JobCondition:
    return msgspec.structs.replace(condition, last_update_time=None, last_transition_time=None)
