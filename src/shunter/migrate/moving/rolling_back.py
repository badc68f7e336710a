"""Takes back what a journal says was written: `preview` decides, `roll_back` writes, and both look at each object anew."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import PODS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from shunter.migrate.backup.cleaning import digest, is_suspended
from shunter.migrate.backup.taking import listed
from shunter.migrate.moving.applying import ASK_SECONDS, ATTEMPTS, LOOKS_AT_ONCE, may_run
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.marks import PLAN, mark
from shunter.migrate.moving.undoing import DEFINITIONS, Twin, Undo, to_undo, undone, was_started
from shunter.operator.overview import overview, pod_selector

GONE_SECONDS = 60.0
"""How long the pods of a TrainJob that was suspended are waited for, before its v1 job runs again."""


async def preview(client: Client, journal: Journal, plan_id: str, *, definitions: str = DEFINITIONS) -> list[Undo]:
    """What would be taken back, in order; each judged as if those before it were not taken back yet. `definitions` is the folder
    with the copies of v1's definitions."""
    todo = to_undo(journal.records)
    undos: list[Undo] = []
    for start in range(0, len(todo), LOOKS_AT_ONCE):
        some = todo[start : start + LOOKS_AT_ONCE]
        undos += await asyncio.gather(*(_undo(client, journal, record, plan_id, definitions, ahead=True) for record in some))
    return undos


async def roll_back(
    client: Client, journal: Journal, plan_id: str, done: Callable[[Undo, str], None], *, definitions: str = DEFINITIONS
) -> list[tuple[Undo, str]]:
    """Takes back what can be, and says of each what it was and why it failed (empty: it did not). Killed and run again it goes
    on. The journal is entered and loaded."""
    outcomes = []
    for record in to_undo(journal.records):
        undo, failure = await _taken_back(client, journal, record, plan_id, definitions)
        done(undo, failure)
        outcomes.append((undo, failure))
    await journal.mirror()
    return outcomes


async def _taken_back(client: Client, journal: Journal, record: Record, plan_id: str, definitions: str) -> tuple[Undo, str]:
    """What a record's taking back was, and why it failed. An object that changes while it is looked at is looked at again."""
    for attempt in range(ATTEMPTS):
        undo = await _undo(client, journal, record, plan_id, definitions, ahead=False)
        try:
            if undo.is_write:
                await journal.announce(msgspec.structs.replace(record, phase="undoing"))
                after = await _write(client, undo)
                journal.note(msgspec.structs.replace(record, phase="undone", after=after))
            elif undo.verdict == "nothing":
                journal.note(msgspec.structs.replace(record, phase="undone", after=await _digest(client, record)))
        except Conflict as error:
            if attempt == ATTEMPTS - 1:
                return undo, error.message
            await asyncio.sleep(ASK_SECONDS)
        except ApiError as error:
            return undo, error.message
        else:
            return undo, ""
    raise AssertionError("the last attempt returns")


async def _undo(client: Client, journal: Journal, record: Record, plan_id: str, definitions: str, *, ahead: bool) -> Undo:
    """What taking a record back means now. What may not be looked at stays as it is; the others are taken back all the same."""
    try:
        return await _judged(client, journal, record, plan_id, definitions, ahead=ahead)
    except Forbidden as error:
        return Undo(record, "refuse", error.message)


async def _judged(client: Client, journal: Journal, record: Record, plan_id: str, definitions: str, *, ahead: bool) -> Undo:
    twin = Twin()
    if record.verb == "patch" and record.api_version != TRAIN_JOBS.api_version:
        twin = await (_twin(client, journal, record, ahead=ahead) if ahead else _settled_twin(client, journal, record))
    present = await _present(client, _resource(record), record)
    users = await _users(client, record, plan_id) if record.kind == TRAINING_RUNTIMES.kind else []
    settled = journal.digest(*record.object)
    known = {settled} if record.phase == "done" else {settled, record.after}
    known -= {""}
    return undone(record, present, plan_id=plan_id, known=known, twin=twin, users=users, definitions=definitions)


async def _write(client: Client, undo: Undo) -> str:
    """The object's digest then; empty when it is gone."""
    record, resource = undo.record, _resource(undo.record)
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
        return ""
    if undo.verdict == "create":
        try:
            return digest(await client.create(resource, undo.body))
        except AlreadyExists:
            return await _digest(client, record)
    patch = {**undo.body, "metadata": {"uid": undo.uid, "resourceVersion": undo.resource_version}}
    patched: Json = await client.patch(resource, record.name, record.namespace, patch)
    return digest(patched)


async def _settled_twin(client: Client, journal: Journal, record: Record) -> Twin:
    """What became of the TrainJob, once its pods are gone or were waited for long enough."""
    deadline = asyncio.get_running_loop().time() + GONE_SECONDS
    while True:
        twin = await _twin(client, journal, record, ahead=False)
        if twin.is_finished or not twin.is_running or asyncio.get_running_loop().time() > deadline:
            return twin
        await asyncio.sleep(ASK_SECONDS)


async def _twin(client: Client, journal: Journal, record: Record, *, ahead: bool) -> Twin:
    """What became of the TrainJob of the record's v1 job. `ahead` of a rollback a twin that this plan started will have been
    stopped by then."""
    made = [other for other in journal.records if other.job == record.job and other.kind == TRAIN_JOBS.kind]
    present = await _present(client, TRAIN_JOBS, made[-1]) if made else None
    if (present is None or _is_another(present, made)) and was_started(made):
        return Twin(is_lost=True)
    if present is None:
        return Twin()
    if overview(present).is_finished:
        return Twin(is_finished=True)
    started = any(other.verb == "patch" and other.phase == "done" for other in made)
    if ahead:
        return Twin(is_running=not is_suspended(present) and not started)
    pods = (await client.list(PODS, made[-1].namespace, label_selector=pod_selector(present))).items
    return Twin(is_running=not is_suspended(present) or any(may_run(pod) for pod in pods))


def _is_another(present: Json, made: Sequence[Record]) -> bool:
    """Whether the TrainJob is not the one that was made, but has its name."""
    uid = next((record.uid for record in reversed(made) if record.phase == "done"), "")
    return uid not in ("", present["metadata"]["uid"])


async def _users(client: Client, record: Record, plan_id: str) -> Sequence[str]:
    """TrainJobs of others that refer to a runtime. Those that may not be read are no reason to keep it: its finalizer does."""
    try:
        jobs = await listed(client, TRAIN_JOBS, [record.namespace])
    except Forbidden:
        return []
    named = [job for job in jobs if job["spec"].get("runtimeRef", {}).get("name") == record.name]
    return [f"TrainJob {job['metadata']['name']}" for job in named if mark(job, PLAN) != plan_id]


async def _present(client: Client, resource: Resource, record: Record) -> Json | None:
    try:
        found: Json = await client.get(resource, record.name, record.namespace)
    except NotFound:
        return None
    return {"apiVersion": resource.api_version, "kind": resource.kind, **found}


async def _digest(client: Client, record: Record) -> str:
    present = await _present(client, _resource(record), record)
    return digest(present) if present is not None else ""


def _resource(record: Record) -> Resource:
    group, _, version = record.api_version.rpartition("/")
    return Resource(group, version, record.kind, record.plural, namespaced=bool(record.namespace))
