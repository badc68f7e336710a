"""Decides how to undo each write of a plan, given the current objects. Pure.

Only objects that the journal records are changed, and only if they have not been changed since. A finished training is never
started again, neither as its v1 job nor because its TrainJob was deleted. And none is lost: a TrainJob is stopped or deleted only
while the v1 job that it was created from exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_POLICIES,
    VALIDATING_POLICY_BINDINGS,
)
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest, suspended
from shunter.migrate.moving.annotations import PLAN, mark, suspended_without_queue
from shunter.migrate.moving.backup.index import is_job
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.v1_origins import Origin
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, is_suspended, is_v2, overview

FREEZE = (VALIDATING_POLICIES.kind, VALIDATING_POLICY_BINDINGS.kind)

Verdict = Literal["delete", "patch", "create", "nothing", "keep", "refuse"]
"""
nothing   the write was never made, or is already undone
keep      it is deliberately not undone
refuse    the object was changed since: undo it by hand
"""


class Undo(NamedTuple):
    """How one record of the journal is undone."""

    record: Record
    verdict: Verdict
    why: str
    uid: str = ""
    """The uid of the object that is deleted or patched, or that an interrupted rollback recreated."""
    resource_version: str = ""
    """The resourceVersion of the object that is deleted or patched, when it was read."""
    body: Json = {}
    """The merge patch, or the object to recreate."""
    has_finished: bool = False
    """Whether it is kept because its training has finished, so that nothing is left to undo. False for a failed TrainJob: its
    suspended v1 job may still be needed."""

    @property
    def is_write(self) -> bool:
        """Whether it writes to the cluster."""
        return self.verdict in ("delete", "patch", "create")

    @property
    def is_undone(self) -> bool:
        """Whether the state before the write is restored, once its own write is made."""
        return self.is_write or self.verdict == "nothing"

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to undo."""
        return self.is_undone or self.has_finished


class RolledBackTrainJob(NamedTuple):
    """The state of the TrainJob of a v1 job during the rollback."""

    is_finished: bool = False
    has_failed: bool = False
    """It has finished and did not succeed."""
    is_running: bool = False
    """It is not suspended, or still has pods."""
    is_stopping: bool = False
    """It is suspended and still has pods."""
    is_lost: bool = False
    """It was started, and deleted by others, so it is unknown whether it finished."""
    queue: str = ""
    """The Kueue queue that starts it; empty if users start it."""

    def objection(self, name: str = "", state: str = "", *, queue: str = "") -> str:
        """Why its v1 job must not train; empty if it may. The text includes the TrainJob's name and state if given; `queue` is
        that of the v1 job."""
        subject = f"its TrainJob {name}".rstrip()
        if self.has_failed:
            return f"{subject} has failed. {_TRAIN_ON_V1}"
        if self.is_finished:
            return f"{subject} has finished{f' ({state})' if state else ''}: resumed, it would train again"
        if self.is_lost:
            return f"{LOST} {_IN_QUEUE.format(queue=queue) if queue else _BY_HAND}"
        if self.is_running:
            return f"{subject} runs, and both would train"
        return f"{subject} is in queue {self.queue}, and both would train" if self.queue else ""


LOST = "its TrainJob was started and no longer exists: it may have trained to the end."
_TRAIN_ON_V1 = "To train on v1 again, resume the v1 job by hand: spec.runPolicy.suspend: false"
_BY_HAND = "If it did not, resume the v1 job by hand: spec.runPolicy.suspend: false"
_IN_QUEUE = (
    "If it did, take the v1 job out of queue {queue} (label kueue.x-k8s.io/queue-name), or Kueue starts it again;"
    " if it did not, leave it there"
)


def to_undo(records: Iterable[Record]) -> list[Record]:
    """The records that can be undone, in that order: the freeze first, because it would reject recreated jobs; then the
    CRDs, which recreated jobs need; then the others, last write first. An interrupted undo keeps its position."""
    last: dict[str, Record] = {}
    written: dict[str, int] = {}
    for record in records:
        last[record.step] = record
        if record.phase in ("intended", "done"):
            written[record.step] = record.number
    ours = [record for record in last.values() if record.phase != "undone" and not record.outcome]
    return sorted(ours, key=lambda record: (_rank(record), -written.get(record.step, record.number)))


def _rank(record: Record) -> int:
    return 0 if record.kind in FREEZE else 1 if record.kind == CUSTOM_RESOURCE_DEFINITIONS.kind else 2


def was_started(records: Iterable[Record]) -> bool:
    """Whether a TrainJob that no longer exists may have trained, by the records of its steps. One that a rollback deleted had not
    finished, and earlier records do not concern the next one of that name."""
    started = is_being_deleted = is_over = False
    for record in records:
        if record.verb == "patch":
            started = started or record.phase in ("intended", "done")
        elif record.phase == "undoing":
            is_being_deleted = True
        elif record.phase == "undone":
            started, is_being_deleted, is_over = started and not is_being_deleted, False, True
        elif is_over:
            started = is_over = False
    return started


class UndoContext(NamedTuple):
    """What the decision depends on besides the object itself."""

    plan_id: str
    known: Collection[str] = ()
    """The digests that the object may have according to the journal."""
    uids: Collection[str] = ()
    """The uids that it may have according to the journal; any if empty."""
    train_job: RolledBackTrainJob = RolledBackTrainJob()
    """For a v1 job: the state of its TrainJob."""
    origin: Origin = "there"
    """For a TrainJob: whether its v1 job exists."""
    users: Mapping[str, bool] = {}
    """For a runtime: the TrainJobs that refer to it, and whether they have succeeded."""


def undo_of(record: Record, present: Json | None, context: UndoContext) -> Undo:
    """How to undo a record; `present` is its object now."""
    match record.verb:
        case "create":
            return _undo_create(record, present, context)
        case "patch":
            return _undo_patch(record, present, context)
        case _:
            return _undo_delete(record, present, context.train_job)


def after_failure(undo: Undo, failed: Record) -> Undo:
    """The undo after one of the same job has failed: kept as it is, unless it could lose a training. A deletion waits, and so
    does a patch whose object does not exist, because it may exist by then."""
    if undo.verdict == "delete":
        return Undo(undo.record, "keep", f"it stays until the change of {failed.title} is undone")
    if undo.verdict == "nothing" and undo.record.verb == "patch":
        return Undo(undo.record, "keep", f"the change of {failed.title} must be undone first")
    return undo


def _undo_create(record: Record, present: Json | None, context: UndoContext) -> Undo:
    if present is None:
        return Undo(record, "nothing", "it is already deleted")
    uid, known = present["metadata"]["uid"], context.known
    if record.uid not in ("", uid) or mark(present, PLAN) != context.plan_id:
        return Undo(record, "refuse", "another object has that name now")
    if record.kind == TRAIN_JOBS.kind and (row := overview(present)).is_finished:
        why = f"it has finished ({row.state}) and is kept, with its result"
        return Undo(record, "keep", why, has_finished=row.state == "Succeeded")
    if record.kind == TRAIN_JOBS.kind and context.origin != "there":
        return Undo(record, "keep", _last_trace(record, context.origin))
    if record.kind == TRAINING_RUNTIMES.kind and (users := sorted(context.users)):
        uses = f"{', '.join(users)} {'uses' if len(users) == 1 else 'use'} it"
        return _finished(record, uses) if all(context.users.values()) else Undo(record, "keep", uses)
    if digest(present) not in known if known else present["metadata"].get("generation", 1) != 1:
        return Undo(record, "refuse", "it was changed after it was created")
    return Undo(record, "delete", "this plan created it", uid, present["metadata"]["resourceVersion"])


def _undo_patch(record: Record, present: Json | None, context: UndoContext) -> Undo:
    if present is None:
        return Undo(record, "nothing", "it no longer exists")
    uid, train_job = present["metadata"]["uid"], context.train_job
    if context.uids and uid not in context.uids:
        return Undo(record, "refuse", "another object has that name now")
    if digest(present) == record.before or merge_patch(present, record.undo) == present:
        return Undo(record, "nothing", "it is as it was before")
    if is_job(present):
        if overview(present).is_finished:
            return _finished(record, f"it has finished ({overview(present).state})")
        # One that stays suspended may be set back beside a TrainJob that runs.
        is_harmless = train_job.is_running and is_suspended(merge_patch(present, record.undo))
        if not is_v2(present) and not is_harmless and (objection := train_job.objection(queue=queue_name(present))):
            return Undo(record, "keep", objection, has_finished=train_job.is_finished and not train_job.has_failed)
        if is_v2(present) and context.origin != "there":
            return Undo(record, "keep", _last_trace(record, context.origin))
    if digest(present) not in context.known:
        return Undo(record, "refuse", "it was changed since")
    return Undo(record, "patch", "this plan changed it", uid, present["metadata"]["resourceVersion"], record.undo)


def _undo_delete(record: Record, present: Json | None, train_job: RolledBackTrainJob) -> Undo:
    if record.kind in FREEZE:
        return Undo(record, "nothing", "the freeze ends with v1's CRDs and is not restored")
    if present is not None and present["metadata"].get("deletionTimestamp"):
        return Undo(record, "refuse", "it is still being deleted: roll back again when it is deleted")
    if present is not None:
        return Undo(record, "nothing", "an object of that name exists", _uid_if_ours(record, present))
    if not record.undo and record.kind == CUSTOM_RESOURCE_DEFINITIONS.kind:
        return Undo(record, "refuse", "its copy is not here: roll back where it was deleted, or create it from your release")
    if not record.undo:
        return Undo(record, "keep", "its copy is not here: roll back with the journal's file of the machine that deleted it")
    if record.state in FINISHED_STATES:
        archived = "it is in the archive of the cleanup (migrate restore PLAN.archive --finished)"
        return _finished(record, f"it had finished ({record.state}): recreated, it would train again; {archived}")
    if not is_job(record.undo):
        return Undo(record, "create", "this plan deleted it", body=record.undo)
    back, objection = "this plan deleted it; it is recreated suspended", train_job.objection()
    if objection and (queue := queue_name(record.undo)):
        why = f"{back}, and out of queue {queue}, from which Kueue would start it: {objection}"
        return Undo(record, "create", why, body=suspended_without_queue(record.undo))
    return Undo(record, "create", back, body=suspended(record.undo))


def _finished(record: Record, why: str) -> Undo:
    return Undo(record, "keep", why, has_finished=True)


def _uid_if_ours(record: Record, present: Json) -> str:
    """The uid of an object that a rollback recreated without receiving the response; empty if others created it."""
    body = record.undo
    forms = [] if not body else [suspended(body), suspended_without_queue(body)] if is_job(body) else [body]
    is_ours = record.phase == "undoing" and digest(present) in map(digest, forms)
    return str(present["metadata"]["uid"]) if is_ours else ""


def _last_trace(record: Record, origin: Origin) -> str:
    origin_text = f"{record.job} does not exist" if origin == "gone" else f"{record.job} is another job now"
    return f"{origin_text}: this is all that is left of its training"
