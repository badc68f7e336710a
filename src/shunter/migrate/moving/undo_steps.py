"""Decides how to undo each write of a plan, given the current objects. Pure.

Only what the journal says is ours is touched, and only as we left it. No training that has finished is ever started again:
neither by its v1 job running once more, nor by the loss of what its TrainJob says. And none is lost: what stands for a training
is stopped or deleted only while what it was made of is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest, suspended
from shunter.migrate.moving import freeze
from shunter.migrate.moving.backup.index import is_job
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.marks import PLAN, mark, parked
from shunter.migrate.moving.origins import Origin
from shunter.migrate.moving.step_decisions import holds
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, is_suspended, is_v2, overview

FREEZE = (freeze.POLICIES.kind, freeze.BINDINGS.kind)

Verdict = Literal["delete", "patch", "create", "nothing", "keep", "refuse"]
"""
nothing   it never happened, or is undone already
keep      it stays as it is on purpose
refuse    somebody changed it since: take it back by hand
"""


class Undo(NamedTuple):
    """What taking back one record of the journal means."""

    record: Record
    verdict: Verdict
    why: str
    uid: str = ""
    """Of the object that is deleted or patched, or was found made again."""
    resource_version: str = ""
    """Of the object that is deleted or patched, as it was looked at."""
    body: Json = {}
    """The merge patch, or the object that is made again."""
    has_finished: bool = False
    """Whether it is kept because its training has finished, so that nothing else is to be done about it. Not so where a TrainJob
    failed: its v1 job is suspended, and may be wanted back for that very reason."""

    @property
    def is_write(self) -> bool:
        """Whether something is written to the cluster for it."""
        return self.verdict in ("delete", "patch", "create")

    @property
    def is_undone(self) -> bool:
        """Whether it is as before the write, once what is written for it is there."""
        return self.is_write or self.verdict == "nothing"

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left that could be taken back."""
        return self.is_undone or self.has_finished


class RolledBackTrainJob(NamedTuple):
    """The state of the TrainJob of a v1 job during the rollback."""

    is_finished: bool = False
    has_failed: bool = False
    """It is finished and did not succeed."""
    is_running: bool = False
    """It is there and not suspended, or has pods still."""
    is_stopping: bool = False
    """It is suspended, and has pods still."""
    is_lost: bool = False
    """It was started, and is gone by somebody else's hand: nobody knows whether it trained to the end."""
    queue: str = ""
    """The queue by which Kueue starts it; empty when it is left to its users."""

    def objection(self, name: str = "", state: str = "", *, queue: str = "") -> str:
        """Why its v1 job must not train; empty when it may. The text includes the TrainJob's name and state where given; `queue`
        is that of the v1 job."""
        twin = f"its TrainJob {name}".rstrip()
        if self.has_failed:
            return f"{twin} has failed. {_TRAIN_ON_V1}"
        if self.is_finished:
            return f"{twin} has finished{f' ({state})' if state else ''}: resumed, it would train again"
        if self.is_lost:
            return f"{LOST} {_IN_QUEUE.format(queue=queue) if queue else _BY_HAND}"
        if self.is_running:
            return f"{twin} runs, and both would train"
        return f"{twin} is in queue {self.queue}, and both would train" if self.queue else ""


LOST = "its TrainJob was started and is gone: it may have trained to the end."
_TRAIN_ON_V1 = "To train on v1 again, resume the v1 job by hand: spec.runPolicy.suspend: false"
_BY_HAND = "If it did not, resume the v1 job by hand: spec.runPolicy.suspend: false"
_IN_QUEUE = (
    "If it did, take the v1 job out of queue {queue} (label kueue.x-k8s.io/queue-name), or Kueue starts it again;"
    " if it did not, leave it there"
)


def to_undo(records: Iterable[Record]) -> list[Record]:
    """What of a journal can be taken back, in that order: the freeze first, as it would refuse what comes back, then the
    definitions, without which it cannot come back, then what was written last. What a rollback has begun keeps its place."""
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
    """Whether a TrainJob that is gone may have trained, by the records of its steps. One that a rollback took away had not
    finished; what came before it says nothing of the next one of that name."""
    started = is_taken_away = is_over = False
    for record in records:
        if record.verb == "patch":
            started = started or record.phase in ("intended", "done")
        elif record.phase == "undoing":
            is_taken_away = True
        elif record.phase == "undone":
            started, is_taken_away, is_over = started and not is_taken_away, False, True
        elif is_over:
            started = is_over = False
    return started


class UndoContext(NamedTuple):
    """What is known besides the object itself."""

    plan_id: str
    known: Collection[str] = ()
    """The digests that the object may have by the journal."""
    uids: Collection[str] = ()
    """The uids that it may have by the journal; any, when there are none."""
    twin: RolledBackTrainJob = RolledBackTrainJob()
    """For a v1 job, what became of its TrainJob."""
    origin: Origin = "there"
    """For a TrainJob: whether its v1 job is there."""
    users: Mapping[str, bool] = {}
    """For a runtime: the TrainJobs that refer to it, and whether they have succeeded."""


def undo_steps(record: Record, present: Json | None, knowledge: UndoContext) -> Undo:
    """What taking a record back means; `present` is its object as it is now."""
    match record.verb:
        case "create":
            return _take_away(record, present, knowledge)
        case "patch":
            return _set_back(record, present, knowledge)
        case _:
            return _bring_back(record, present, knowledge.twin)


def held_back(undo: Undo, before: Record) -> Undo:
    """The undo, or, where it could lose something, that it waits for one of the same job that was not done. So does what finds
    nothing to set back: the object may be there by then."""
    if undo.verdict == "delete":
        return Undo(undo.record, "keep", f"it stays until the change of {before.title} is undone")
    if undo.verdict == "nothing" and undo.record.verb == "patch":
        return Undo(undo.record, "keep", f"the change of {before.title} must be undone first")
    return undo


def _take_away(record: Record, present: Json | None, knowledge: UndoContext) -> Undo:
    if present is None:
        return Undo(record, "nothing", "it is gone already")
    uid, known = present["metadata"]["uid"], knowledge.known
    if record.uid not in ("", uid) or mark(present, PLAN) != knowledge.plan_id:
        return Undo(record, "refuse", "another object has that name now")
    if record.kind == TRAIN_JOBS.kind and (row := overview(present)).is_finished:
        why = f"it has finished ({row.state}) and stays: its result is there"
        return Undo(record, "keep", why, has_finished=row.state == "Succeeded")
    if record.kind == TRAIN_JOBS.kind and knowledge.origin != "there":
        return Undo(record, "keep", _all_that_is_left(record, knowledge.origin))
    if record.kind == TRAINING_RUNTIMES.kind and (users := sorted(knowledge.users)):
        uses = f"{', '.join(users)} {'uses' if len(users) == 1 else 'use'} it"
        return _finished(record, uses) if all(knowledge.users.values()) else Undo(record, "keep", uses)
    if digest(present) not in known if known else present["metadata"].get("generation", 1) != 1:
        return Undo(record, "refuse", "it was changed since it was made")
    return Undo(record, "delete", "this plan made it", uid, present["metadata"]["resourceVersion"])


def _set_back(record: Record, present: Json | None, knowledge: UndoContext) -> Undo:
    if present is None:
        return Undo(record, "nothing", "it is gone")
    uid, twin = present["metadata"]["uid"], knowledge.twin
    if knowledge.uids and uid not in knowledge.uids:
        return Undo(record, "refuse", "another object has that name now")
    if digest(present) == record.before or holds_patch(present, record.undo):
        return Undo(record, "nothing", "it is as it was before")
    if is_job(present):
        if overview(present).is_finished:
            return _finished(record, f"it has finished ({overview(present).state})")
        # One that stays suspended may be set back beside a TrainJob that runs.
        is_harmless = twin.is_running and is_suspended(merge_patch(present, record.undo))
        if not is_v2(present) and not is_harmless and (objection := twin.objection(queue=queue_name(present))):
            return Undo(record, "keep", objection, has_finished=twin.is_finished and not twin.has_failed)
        if is_v2(present) and knowledge.origin != "there":
            return Undo(record, "keep", _all_that_is_left(record, knowledge.origin))
    if digest(present) not in knowledge.known:
        return Undo(record, "refuse", "it was changed since")
    return Undo(record, "patch", "this plan changed it", uid, present["metadata"]["resourceVersion"], record.undo)


def _bring_back(record: Record, present: Json | None, twin: RolledBackTrainJob) -> Undo:
    if record.kind in FREEZE:
        return Undo(record, "nothing", "the freeze ends with v1's definitions and is not restored")
    if present is not None and present["metadata"].get("deletionTimestamp"):
        return Undo(record, "refuse", "it is still being deleted: roll back again when it is gone")
    if present is not None:
        return Undo(record, "nothing", "an object of that name is there", _uid_if_ours(record, present))
    if not record.undo and record.kind == CUSTOM_RESOURCE_DEFINITIONS.kind:
        return Undo(record, "refuse", "its copy is not here: roll back where it was deleted, or create it from your release")
    if not record.undo:
        return Undo(record, "keep", "its copy is not here: roll back with the journal's file of the machine that deleted it")
    if record.state in FINISHED_STATES:
        archived = "it is in the archive of the cleanup (migrate restore PLAN.archive --finished)"
        return _finished(record, f"it had finished ({record.state}): recreated, it would train again; {archived}")
    if not is_job(record.undo):
        return Undo(record, "create", "this plan deleted it", body=record.undo)
    back, objection = "this plan deleted it; it is recreated suspended", twin.objection()
    if objection and (queue := queue_name(record.undo)):
        why = f"{back}, and out of queue {queue}, from which Kueue would start it: {objection}"
        return Undo(record, "create", why, body=parked(record.undo))
    return Undo(record, "create", back, body=suspended(record.undo))


def _finished(record: Record, why: str) -> Undo:
    return Undo(record, "keep", why, has_finished=True)


def _uid_if_ours(record: Record, present: Json) -> str:
    """The uid of an object that a rollback recreated without receiving the answer; empty when another user created the object."""
    body = record.undo
    forms = [] if not body else [suspended(body), parked(body)] if is_job(body) else [body]
    is_ours = record.phase == "undoing" and digest(present) in map(digest, forms)
    return str(present["metadata"]["uid"]) if is_ours else ""


def _all_that_is_left(record: Record, origin: Origin) -> str:
    seen = f"{record.job} is not there" if origin == "gone" else f"{record.job} is another job now"
    return f"{seen}: this is all that is left of its training"


def holds_patch(present: Json, patch: Json) -> bool:
    """Whether applying the patch would change nothing."""
    return holds(merge_patch(present, patch), present) and holds(present, merge_patch(present, patch))
