"""The status a reconcile is working towards, with the events that go with its changes."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from shunter.api.jobset import JobSet, JobSetStatus
from shunter.api.meta import Condition, Json, as_json, condition_json
from shunter.api.resources import JOBSETS
from shunter.kube.controllers.plan import Note, Ref

_EXCLUSIVE = {"StartupPolicyInProgress": "StartupPolicyCompleted", "StartupPolicyCompleted": "StartupPolicyInProgress"}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A status and its events; every change returns a new one."""

    jobset: Ref
    status: JobSetStatus
    now: datetime
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, jobset: JobSet, now: datetime) -> Progress:
        """Begins with the stored status and without events; `now` is cut to whole seconds, as times are stored."""
        return cls(jobset=Ref.of(JOBSETS, jobset.metadata), status=jobset.status, now=now.replace(microsecond=0))

    def note(self, type: Literal["Normal", "Warning"], reason: str, message: str) -> Progress:
        """With one more event about the JobSet."""
        note = Note(regarding=self.jobset, type=type, reason=reason, message=message)
        return msgspec.structs.replace(self, notes=(*self.notes, note))

    def condition(self, type: str, status: bool, reason: str, message: str, *, warn: bool = False) -> Progress:
        """With this condition and, if that changes anything, an event of its reason and message.

        A condition that was never there is not added as False. Of two that exclude each other the old one becomes False.
        """
        conditions, changed, found = list(self.status.conditions), False, False
        desired = Condition(
            type=type, status="True" if status else "False", reason=reason, message=message, last_transition_time=self.now
        )
        for position, current in enumerate(conditions):
            if current.type == type:
                found = True
                if current.status != desired.status:
                    conditions[position], changed = desired, True
                elif (current.reason, current.message) != (reason, message):
                    since = current.last_transition_time
                    conditions[position], changed = msgspec.structs.replace(desired, last_transition_time=since), True
            elif status and current.is_true and _EXCLUSIVE.get(current.type) == type:
                conditions[position], changed = msgspec.structs.replace(current, status="False"), True
        if status and not found:
            conditions.append(desired)
            changed = True
        if not changed:
            return self
        changed_status = msgspec.structs.replace(self.status, conditions=tuple(conditions))
        return msgspec.structs.replace(self, status=changed_status).note("Warning" if warn else "Normal", reason, message)


def status_json(status: JobSetStatus) -> Json:
    """The status as it is stored: counters of replicated jobs and `restarts` are written even when 0. A status that was not
    written yet is empty."""
    if status == JobSetStatus():
        return {}
    encoded = as_json(status)
    encoded["restarts"] = status.restarts
    if status.conditions:
        encoded["conditions"] = [condition_json(condition) for condition in status.conditions]
    if status.replicated_jobs_status:
        counters = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
        encoded["replicatedJobsStatus"] = [{**counters, **entry} for entry in encoded["replicatedJobsStatus"]]
    return encoded
