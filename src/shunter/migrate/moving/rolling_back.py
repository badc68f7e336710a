"""Takes back what a journal says was written: `preview` decides, `roll_back` writes, and both look at each object anew."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving import remove_v1
from shunter.migrate.moving.applying import ASK_SECONDS, ATTEMPTS, FIRST_WAIT
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.origins import Origin, brought_back, origin_of
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.present import ClusterView, LiveCluster, SimulatedCluster, Spot
from shunter.migrate.moving.steps import v1_job_of
from shunter.migrate.moving.undo_steps import RolledBackTrainJob, Undo, UndoContext, held_back, to_undo, undo_steps, was_started
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_suspended, overview

GONE_SECONDS = 60.0
"""How long the pods of a TrainJob that was suspended are waited for, before its v1 job runs again; and an object that is being
deleted, before it is made again."""
SERVED_SECONDS = 30.0
"""How long a kind whose definition was made again is waited for."""


async def preview(client: Client, journal: Journal, plan: Plan, definitions: Path) -> list[Undo]:
    """What would be taken back, in order; each judged as if those before it were taken back. `definitions` is the folder with the
    copies of v1's definitions."""
    sight = SimulatedCluster(LiveCluster(client))
    judge = _Judge(journal, plan, definitions, sight, waits=False)
    todo = to_undo(journal.records)
    await sight.look(spot for record in todo for spot in (_spot(record), *_spot_of_job(record.job)))
    undos = []
    for record in todo:
        undo = await judge.undo(record)
        sight.suppose(_spot(record), undo)
        judge.note_result(undo, "")
        undos.append(undo)
    return undos


async def roll_back(
    client: Client, journal: Journal, plan: Plan, definitions: Path, done: Callable[[Undo, str], None]
) -> list[tuple[Undo, str]]:
    """Takes back what can be, and says of each what it was and why it failed (empty: it did not). Killed and run again it goes
    on. The journal is entered and loaded."""
    judge = _Judge(journal, plan, definitions, LiveCluster(client), waits=True)
    outcomes = []
    for record in to_undo(journal.records):
        undo, failure = await _taken_back(client, journal, record, judge)
        judge.note_result(undo, failure)
        done(undo, failure)
        outcomes.append((undo, failure))
    await journal.mirror()
    return outcomes


class _Judge:
    """Decides what taking a record back means, by what is seen and what became of the records before it."""

    def __init__(self, journal: Journal, plan: Plan, definitions: Path, sight: ClusterView, *, waits: bool) -> None:
        self._journal = journal
        self._plan_id = plan.id
        self._items = {item.title: item for item in plan.items}
        self._definitions = definitions
        self._sight = sight
        self._waits = waits
        self._not_done: dict[str, Record] = {}

    async def undo(self, record: Record) -> Undo:
        """What may not be looked at stays as it is; the others are taken back all the same. ApiError."""
        try:
            undo = await self._undone(record)
        except Forbidden as error:
            return Undo(record, "refuse", error.message)
        before = self._not_done.get(record.job)
        return held_back(undo, before) if before is not None else undo

    def note_result(self, undo: Undo, failure: str) -> None:
        """Records the result of an undo: after one that was not done, nothing else of its job is deleted."""
        if undo.record.job and (failure or undo.verdict == "refuse"):
            self._not_done.setdefault(undo.record.job, undo.record)

    async def _undone(self, record: Record) -> Undo:
        spot = _spot(record)
        if record.verb == "delete" and spot.resource == CUSTOM_RESOURCE_DEFINITIONS:
            copy = remove_v1.copy_of(self._definitions, record.name, record.before)
            record = msgspec.structs.replace(record, undo=copy)
        settled = self._journal.digest(*record.object)
        noted = self._sight.noted(spot)
        known = {settled} if record.phase == "done" else {settled, record.after}
        knowledge = UndoContext(
            plan_id=self._plan_id,
            known={*known, *noted.digests} - {""},
            uids={record.uid, *brought_back(self._journal.of(*record.object)), *noted.uids} if record.uid else (),
        )
        if spot.resource == TRAIN_JOBS:
            knowledge = knowledge._replace(origin=await self._origin(record.job))
        elif spot.resource == TRAINING_RUNTIMES:
            knowledge = knowledge._replace(users=await self._users(record))
        elif record.verb == "patch" and record.job:
            knowledge = knowledge._replace(twin=await self._settled_twin(record))
        elif record.verb == "delete" and record.job:
            knowledge = knowledge._replace(twin=await self._twin(record))
        present = await (self._remaining(spot) if record.verb == "delete" else self._sight.get(spot))
        return undo_steps(record, present, knowledge)

    async def _remaining(self, spot: Spot) -> Json | None:
        """What is there of an object that was deleted: nothing once it is gone, which may take a server some time."""
        deadline = asyncio.get_running_loop().time() + GONE_SECONDS
        while True:
            present = await self._sight.get(spot)
            if present is None or not present["metadata"].get("deletionTimestamp"):
                return present
            if not self._waits:
                return None
            if asyncio.get_running_loop().time() > deadline:
                return present
            await asyncio.sleep(ASK_SECONDS)

    async def _origin(self, title: str) -> Origin:
        """Whether the v1 job is there. One that is being deleted is as good as gone."""
        for spot in _spot_of_job(title):
            job = await self._sight.get(spot)
            if job is not None and job["metadata"].get("deletionTimestamp"):
                job = None
            records = self._journal.of(spot.resource.kind, spot.namespace, spot.name)
            return origin_of(self._items.get(title), job, records)
        return "there"

    async def _users(self, record: Record) -> dict[str, bool]:
        """The TrainJobs that refer to a runtime, but for those that are being deleted, and whether they have succeeded."""
        found = {}
        for job in await self._sight.train_jobs(record.namespace):
            reference = job["spec"].get("runtimeRef") or {}
            refers = reference.get("kind") == TRAINING_RUNTIMES.kind and reference.get("name") == record.name
            if refers and not job["metadata"].get("deletionTimestamp"):
                found[f"TrainJob {job['metadata']['name']}"] = overview(job).state == "Succeeded"
        return found

    async def _settled_twin(self, record: Record) -> RolledBackTrainJob:
        """What became of the TrainJob, once its pods are gone or were waited for long enough."""
        deadline = asyncio.get_running_loop().time() + GONE_SECONDS
        while True:
            twin = await self._twin(record)
            if not (self._waits and twin.is_stopping) or asyncio.get_running_loop().time() > deadline:
                return twin
            await asyncio.sleep(ASK_SECONDS)

    async def _twin(self, record: Record) -> RolledBackTrainJob:
        made = [other for other in self._journal.records if other.job == record.job and other.kind == TRAIN_JOBS.kind]
        present = await self._sight.get(_spot(made[-1])) if made else None
        if (present is None or _is_another(present, made)) and was_started(made):
            return RolledBackTrainJob(is_lost=True)
        if present is None:
            return RolledBackTrainJob()
        if (row := overview(present)).is_finished:
            return RolledBackTrainJob(is_finished=True, has_failed=row.state == "Failed")
        if not is_suspended(present):
            return RolledBackTrainJob(is_running=True)
        has_pods = await self._sight.runs(present)
        return RolledBackTrainJob(is_running=has_pods, is_stopping=has_pods, queue=queue_name(present))


async def _taken_back(client: Client, journal: Journal, record: Record, judge: _Judge) -> tuple[Undo, str]:
    """What a record's taking back was, and why it failed. An object that changes while it is looked at is looked at again, and a
    server that does not answer is asked again."""
    undo = Undo(record, "nothing", "it was not looked at")
    for attempt in range(ATTEMPTS):
        try:
            undo = await judge.undo(record)
            if undo.is_write:
                await journal.announce(msgspec.structs.replace(record, phase="undoing"))
                journal.note(_after(record, await _write(client, undo)))
            elif undo.verdict == "nothing":
                present = await LiveCluster(client).get(_spot(record))
                record = msgspec.structs.replace(record, uid=undo.uid or record.uid)
                journal.note(
                    msgspec.structs.replace(record, phase="undone", after=digest(present) if present is not None else "")
                )
        except (AlreadyExists, Conflict, NotFound, *PASSING) as error:
            if attempt == ATTEMPTS - 1:
                return undo, error.message
            await asyncio.sleep(FIRST_WAIT * 2.0**attempt)
        except ApiError as error:
            return undo, error.message
        else:
            return undo, ""
    raise AssertionError("the last attempt returns")


def _after(record: Record, obj: Json | None) -> Record:
    """The record that a write was undone, with the object afterwards; None when it is gone."""
    if obj is None:
        return msgspec.structs.replace(record, phase="undone", after="")
    return msgspec.structs.replace(record, phase="undone", after=digest(obj), uid=obj["metadata"]["uid"])


async def _write(client: Client, undo: Undo) -> Json | None:
    """The object as the server has it then; None when it is gone."""
    record, resource = undo.record, _spot(undo.record).resource
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
        return await _made_again(client, resource, undo.body)
    patch = {**undo.body, "metadata": {"uid": undo.uid, "resourceVersion": undo.resource_version}}
    patched: Json = await client.patch(resource, record.name, record.namespace, patch)
    return patched


async def _made_again(client: Client, resource: Resource, body: Json) -> Json:
    """What was made. Its kind may not be served yet, as its definition came back a moment ago."""
    try:
        made: Json = await client.create(resource, body)
    except NotFound:
        await _until_served(client, resource)
        made = await client.create(resource, body)
    return made


async def _until_served(client: Client, resource: Resource) -> None:
    """Returns when a kind is served, when it has no definition, or when it was waited for long enough. A definition may say that
    it is established seconds before."""
    deadline = asyncio.get_running_loop().time() + SERVED_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        with contextlib.suppress(NotFound):
            await client.list(resource, "default")
            return
        try:
            await client.get(CUSTOM_RESOURCE_DEFINITIONS, resource.full_name)
        except NotFound:
            return
        await asyncio.sleep(ASK_SECONDS)


def _is_another(present: Json, made: Sequence[Record]) -> bool:
    """Whether the TrainJob is not the one that was made, but has its name."""
    uid = next((record.uid for record in reversed(made) if record.phase == "done"), "")
    return uid not in ("", present["metadata"]["uid"])


def _spot(record: Record) -> Spot:
    group, _, version = record.api_version.rpartition("/")
    resource = Resource(group, version, record.kind, record.plural, namespaced=bool(record.namespace))
    return Spot(resource, record.namespace, record.name)


def _spot_of_job(title: str) -> Sequence[Spot]:
    """Where the v1 job `PyTorchJob training/bert` is; nowhere for the empty title of what belongs to none."""
    return [Spot(*v1_job_of(title))] if title else []
