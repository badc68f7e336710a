"""Undoes the writes that a journal records: `preview` only decides, `roll_back` writes; both read each object again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import remove_v1
from shunter.migrate.moving.applying import ATTEMPTS, FIRST_WAIT, POLL_SECONDS
from shunter.migrate.moving.cluster_view import ClusterView, LiveCluster, SimulatedCluster
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.rollback_decisions import (
    RolledBackTrainJob,
    Undo,
    UndoContext,
    after_failure,
    to_undo,
    undo_of,
    was_started,
)
from shunter.migrate.moving.steps import ObjectRef, v1_job_of
from shunter.migrate.moving.v1_origins import Origin, origin_of, recreated_uids
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_suspended, overview

T = TypeVar("T")

GONE_SECONDS = 60.0
"""How long to wait for the pods of a suspended TrainJob to end before its v1 job runs again, and for an object to be deleted
before it is recreated."""
SERVED_SECONDS = 30.0
"""How long to wait until a kind is served whose CRD was recreated."""


async def preview(client: Client, journal: Journal, plan: Plan, crd_copies: Path) -> list[Undo]:
    """What would be undone, in order; each is decided as if those before it had been undone. `crd_copies` is the folder with the
    copies of v1's CRDs."""
    view = SimulatedCluster(LiveCluster(client))
    decider = _UndoDecider(journal, plan, crd_copies, view, waits=False)
    todo = to_undo(journal.records)
    await view.load(ref for record in todo for ref in (_ref(record), *_v1_job_refs(record.job)))
    undos = []
    for record in todo:
        undo = await decider.undo(record)
        view.simulate(_ref(record), undo)
        decider.note_result(undo, "")
        undos.append(undo)
    return undos


async def roll_back(
    client: Client, journal: Journal, plan: Plan, crd_copies: Path, done: Callable[[Undo, str], None]
) -> list[tuple[Undo, str]]:
    """Undoes what can be undone, and returns each undo with the reason of its failure (empty if it succeeded). After a kill, the
    next call continues. The journal must be entered and loaded."""
    decider = _UndoDecider(journal, plan, crd_copies, LiveCluster(client), waits=True)
    outcomes = []
    for record in to_undo(journal.records):
        undo, failure = await _undo_record(client, journal, record, decider)
        decider.note_result(undo, failure)
        done(undo, failure)
        outcomes.append((undo, failure))
    await journal.mirror()
    return outcomes


class _UndoDecider:
    """Decides how to undo each record, given the current objects and the results of the undo steps before it."""

    def __init__(self, journal: Journal, plan: Plan, crd_copies: Path, view: ClusterView, *, waits: bool) -> None:
        self._journal = journal
        self._plan_id = plan.id
        self._items = {item.title: item for item in plan.items}
        self._crd_copies = crd_copies
        self._view = view
        self._waits = waits
        self._not_done: dict[str, Record] = {}

    async def undo(self, record: Record) -> Undo:
        """How to undo a record. An object that may not be read is left as it is. ApiError."""
        try:
            undo = await self._undone(record)
        except Forbidden as error:
            return Undo(record, "refuse", error.message)
        before = self._not_done.get(record.job)
        return after_failure(undo, before) if before is not None else undo

    def note_result(self, undo: Undo, failure: str) -> None:
        """Records the result of an undo: after a failure, no other object of its job is deleted."""
        if undo.record.job and (failure or undo.verdict == "refuse"):
            self._not_done.setdefault(undo.record.job, undo.record)

    async def _undone(self, record: Record) -> Undo:
        ref = _ref(record)
        if record.verb == "delete" and ref.resource == CUSTOM_RESOURCE_DEFINITIONS:
            copy = remove_v1.copy_of(self._crd_copies, record.name, record.before)
            record = msgspec.structs.replace(record, undo=copy)
        settled = self._journal.digest(*record.object)
        recorded = self._view.recorded(ref)
        known = {settled} if record.phase == "done" else {settled, record.after}
        context = UndoContext(
            plan_id=self._plan_id,
            known={*known, *recorded.digests} - {""},
            uids={record.uid, *recreated_uids(self._journal.of(*record.object)), *recorded.uids} if record.uid else (),
        )
        if ref.resource == TRAIN_JOBS:
            context = context._replace(origin=await self._origin(record.job))
        elif ref.resource == TRAINING_RUNTIMES:
            context = context._replace(users=await self._users(record))
        elif record.verb == "patch" and record.job:
            context = context._replace(train_job=await self._stopped_train_job(record))
        elif record.verb == "delete" and record.job:
            context = context._replace(train_job=await self._train_job(record))
        present = await (self._remaining(ref) if record.verb == "delete" else self._view.get(ref))
        return undo_of(record, present, context)

    async def _remaining(self, ref: ObjectRef) -> Json | None:
        """A deleted object that still exists, or another of its name, after waiting until its deletion is complete. A preview
        does not wait, but expects the deletion to complete."""
        present = await self._polled(lambda: self._view.get(ref), lambda obj: not _is_being_deleted(obj))
        return None if _is_being_deleted(present) and not self._waits else present

    async def _polled(self, read: Callable[[], Awaitable[T]], is_final: Callable[[T], bool]) -> T:
        """What `read` returns, once it is final or after GONE_SECONDS; a preview reads once."""
        deadline = asyncio.get_running_loop().time() + GONE_SECONDS
        while True:
            found = await read()
            if not self._waits or is_final(found) or asyncio.get_running_loop().time() > deadline:
                return found
            await asyncio.sleep(POLL_SECONDS)

    async def _origin(self, title: str) -> Origin:
        """Whether the v1 job exists; one that is being deleted does not count."""
        for ref in _v1_job_refs(title):
            job = await self._view.get(ref)
            if _is_being_deleted(job):
                job = None
            records = self._journal.of(ref.resource.kind, ref.namespace, ref.name)
            return origin_of(self._items.get(title), job, records)
        return "there"

    async def _users(self, record: Record) -> dict[str, bool]:
        """The TrainJobs that refer to a runtime, except those being deleted, and whether they have succeeded."""
        found = {}
        for job in await self._view.train_jobs(record.namespace):
            reference = job["spec"].get("runtimeRef") or {}
            refers = reference.get("kind") == TRAINING_RUNTIMES.kind and reference.get("name") == record.name
            if refers and not _is_being_deleted(job):
                found[f"TrainJob {job['metadata']['name']}"] = overview(job).state == "Succeeded"
        return found

    async def _stopped_train_job(self, record: Record) -> RolledBackTrainJob:
        """The state of the TrainJob, after waiting for its pods to end."""
        return await self._polled(lambda: self._train_job(record), lambda train_job: not train_job.is_stopping)

    async def _train_job(self, record: Record) -> RolledBackTrainJob:
        made = [other for other in self._journal.records if other.job == record.job and other.kind == TRAIN_JOBS.kind]
        present = await self._view.get(_ref(made[-1])) if made else None
        if (present is None or _is_another(present, made)) and was_started(made):
            return RolledBackTrainJob(is_lost=True)
        if present is None:
            return RolledBackTrainJob()
        if (row := overview(present)).is_finished:
            return RolledBackTrainJob(is_finished=True, has_failed=row.state == "Failed")
        if not is_suspended(present):
            return RolledBackTrainJob(is_running=True)
        has_pods = await self._view.runs(present)
        return RolledBackTrainJob(is_running=has_pods, is_stopping=has_pods, queue=queue_name(present))


async def _undo_record(client: Client, journal: Journal, record: Record, decider: _UndoDecider) -> tuple[Undo, str]:
    """Undoes a record; returns the undo, and the reason of its failure. If the object changes meanwhile, or the server does not
    respond, it is read and decided again."""
    undo = Undo(record, "nothing", "it was not read")
    for attempt in range(ATTEMPTS):
        try:
            undo = await decider.undo(record)
            if undo.is_write:
                await journal.announce(msgspec.structs.replace(record, phase="undoing"))
                journal.note(record.after_write("undone", await _write(client, undo)))
            elif undo.verdict == "nothing":
                present = await LiveCluster(client).get(_ref(record))
                record = msgspec.structs.replace(record, uid=undo.uid or record.uid)
                journal.note(
                    msgspec.structs.replace(record, phase="undone", after=digest(present) if present is not None else "")
                )
        except (AlreadyExists, Conflict, NotFound, *PASSING) as error:
            has_waited = undo.verdict == "create" and isinstance(error, NotFound)  # `_recreate` has, for the kind
            if has_waited or attempt == ATTEMPTS - 1:
                return undo, error.message
            await asyncio.sleep(FIRST_WAIT * 2.0**attempt)
        except ApiError as error:
            return undo, error.message
        else:
            return undo, ""
    raise AssertionError("the last attempt returns")


async def _write(client: Client, undo: Undo) -> Json | None:
    """The object after the write, as the server returned it; None after a deletion."""
    record, resource = undo.record, _ref(undo.record).resource
    if undo.verdict == "delete":
        with contextlib.suppress(NotFound):
            await client.delete(
                resource,
                record.name,
                record.namespace,
                uid=undo.uid,
                resource_version=undo.resource_version,
                propagation="Background",
            )
        return None
    if undo.verdict == "create":
        return await _recreate(client, resource, undo.body)
    patch = {**undo.body, "metadata": {"uid": undo.uid, "resourceVersion": undo.resource_version}}
    patched: Json = await client.patch(resource, record.name, record.namespace, patch)
    return patched


async def _recreate(client: Client, resource: Resource, body: Json) -> Json:
    """The created object. Its kind may not be served yet, if its CRD has just been recreated."""
    try:
        made: Json = await client.create(resource, body)
    except NotFound:
        await _until_served(client, resource)
        made = await client.create(resource, body)
    return made


async def _until_served(client: Client, resource: Resource) -> None:
    """Returns when a kind is served, when it has no CRD, or after SERVED_SECONDS. A CRD may be established seconds
    before its kind is served."""
    deadline = asyncio.get_running_loop().time() + SERVED_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        with contextlib.suppress(NotFound):
            await client.list(resource, "default")
            return
        try:
            await client.get(CUSTOM_RESOURCE_DEFINITIONS, resource.full_name)
        except NotFound:
            return
        await asyncio.sleep(POLL_SECONDS)


def _is_being_deleted(obj: Json | None) -> bool:
    return obj is not None and bool(obj["metadata"].get("deletionTimestamp"))


def _is_another(present: Json, made: Sequence[Record]) -> bool:
    """Whether the TrainJob is another one of the same name than the plan created."""
    uid = next((record.uid for record in reversed(made) if record.phase == "done"), "")
    return uid not in ("", present["metadata"]["uid"])


def _ref(record: Record) -> ObjectRef:
    group, _, version = record.api_version.rpartition("/")
    resource = Resource(group, version, record.kind, record.plural, namespaced=bool(record.namespace))
    return ObjectRef(resource, record.namespace, record.name)


def _v1_job_refs(title: str) -> Sequence[ObjectRef]:
    """The v1 job with this title; none for an empty title."""
    return [v1_job_of(title)] if title else []
