"""Recreates the objects of a backup. `decided`, which is pure, decides what happens to each object; `restore` carries it out.

Three guarantees: a training that had finished is never started again, a v1 job and its TrainJob are never both started, and
existing objects are never overwritten. A file that is missing or was changed is one object less, and refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.api.titles import title_of
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, NotFound
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.annotations import SOURCE, mark, suspended_without_queue
from shunter.migrate.moving.backup.index import Entry, Index, is_job, read_entry, state_of
from shunter.migrate.moving.backup.saving import BY_KIND, listed
from shunter.migrate.moving.rollback_decisions import RolledBackTrainJob
from shunter.migrate.moving.runs.trial_labels import is_trial
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, is_suspended

Verdict = Literal["create", "create suspended", "unchanged", "leave", "refuse"]


class Decision(NamedTuple):
    """The decision about one object of the backup, and why. `body` is the object to create, None if none is."""

    entry: Entry
    verdict: Verdict
    why: str
    body: Json | None = None


class Choice(NamedTuple):
    """The user's options."""

    resume: bool = False
    """Start jobs that were running, instead of creating them suspended."""
    finished: bool = False
    """Restore finished jobs as well, suspended."""


class Counterpart(NamedTuple):
    """A TrainJob that was created from a v1 job, for the v1 job; the v1 job for the TrainJob. Both are the same training."""

    job: Json
    state: str
    """Now if it is in the cluster, else when it was backed up."""


def decided(entry: Entry, obj: Json, present: Json | None, choice: Choice, others: Iterable[Counterpart] = ()) -> Decision:
    """The decision about an object. `obj` is the backed-up object, `present` the current one of that name, `others` the jobs
    that run, will run or have run the same training."""
    if present is not None:
        if digest(present) == digest(obj) or (
            is_job(obj) and digest(suspended_without_queue(present)) == digest(suspended_without_queue(obj))
        ):
            return Decision(entry, "unchanged", "it is there as it was")
        return Decision(entry, "refuse", "another object of that name exists; delete or rename it first")
    if not is_job(obj):
        return Decision(entry, "create", "it no longer exists", obj)
    if entry.is_finished and not choice.finished:
        return Decision(
            entry, "leave", f"it had finished ({entry.state}) and would run again; with --finished it is restored suspended"
        )
    if entry.is_finished:
        return _suspended(entry, obj, f"it had finished ({entry.state}): resumed, it would run again")
    if choice.resume and not is_suspended(obj):
        if objection := next(filter(None, map(_objection, others)), ""):
            return _suspended(entry, obj, objection)
        return Decision(entry, "create", f"it was {entry.state or 'there'}, and runs from the start", obj)
    return _suspended(entry, obj, "resume it when it should run")


def _suspended(entry: Entry, obj: Json, why: str) -> Decision:
    queue = queue_name(obj)
    out = f"; it is out of queue {queue}, whose label (kueue.x-k8s.io/queue-name) lets Kueue start it" if queue else ""
    return Decision(entry, "create suspended", why + out, suspended_without_queue(obj))


async def decisions(client: Client, directory: Path, index: Index, choice: Choice, only: Iterable[str] = ()) -> list[Decision]:
    """The decisions about all objects, or those in the namespaces `only`. Reads the cluster, changes nothing. InputError if
    `only` names a namespace of which the backup holds nothing."""
    namespaces = frozenset(only)
    entries = [entry for entry in index.objects if not namespaces or entry.namespace in namespaces]
    if unknown := namespaces - {entry.namespace for entry in index.objects}:
        raise InputError(
            f"{directory}: holds no objects of namespace {', '.join(sorted(unknown))}.",
            f"It has those of: {', '.join(sorted({entry.namespace for entry in index.objects})) or 'none'}.",
        )
    read = [_read(directory, entry) for entry in entries]
    there = [(entry, obj) for entry, obj in zip(entries, read, strict=True) if not isinstance(obj, InputError)]
    same = await _counterparts(client, there) if choice.resume else {}
    found = []
    for entry, obj in zip(entries, read, strict=True):
        if isinstance(obj, InputError):
            found.append(Decision(entry, "refuse", str(obj)))
        else:
            found.append(decided(entry, obj, await _present(client, obj), choice, same.get(entry.title, ())))
    return found


def _read(directory: Path, entry: Entry) -> Json | InputError:
    """The object of an entry, or why it cannot be read."""
    try:
        obj = read_entry(directory, entry)
        _resource(obj)
    except InputError as error:
        return error
    return obj


async def restore(client: Client, decision: Decision, *, dry_run: bool = False) -> str:
    """Creates the object of a decision; returns why it failed, else an empty text. An object created meanwhile is not
    overwritten."""
    if decision.body is None:
        return ""
    try:
        await client.create(_resource(decision.body), decision.body, dry_run=dry_run, field_validation="Strict")
    except AlreadyExists:
        return "another object of that name was created in the meantime"
    except NotFound as error:
        kind = f"{decision.body['kind']} ({decision.body['apiVersion']})"
        is_unserved = not error.reason  # a path that the server does not know
        return f"the cluster does not serve {kind}: create its definition first" if is_unserved else error.message
    except ApiError as error:
        return error.message
    return ""


def _objection(other: Counterpart) -> str:
    job, state = other
    is_finished = state in FINISHED_STATES
    if job["kind"] == TRAIN_JOBS.kind:
        train_job = RolledBackTrainJob(is_finished=is_finished, is_running=not is_finished and not is_suspended(job))
        return train_job.objection(job["metadata"]["name"], state)
    if is_finished:
        return f"its {title_of(job)} has finished ({state}): resumed, it would train again"
    return "" if is_suspended(job) else f"its {title_of(job)} runs, and both would train"


async def _counterparts(client: Client, objects: Sequence[tuple[Entry, Json]]) -> dict[str, list[Counterpart]]:
    """The counterparts of jobs of the backup, by the titles of the jobs. What the cluster no longer has is taken from the backup.
    If neither job of a training has finished, its TrainJob runs, and the v1 job does not."""
    found: dict[str, list[Counterpart]] = {}
    namespaces = {entry.namespace for entry, _ in objects}
    train_jobs = await listed(client, TRAIN_JOBS, namespaces) if namespaces else []
    present = {title_of(job) for job in train_jobs}
    seen = [Counterpart(job, state_of(job)) for job in train_jobs]
    seen += [
        Counterpart(obj, entry.state) for entry, obj in objects if obj["kind"] == TRAIN_JOBS.kind and entry.title not in present
    ]
    for one in seen:
        if not is_trial(one.job):
            found.setdefault(mark(one.job, SOURCE), []).append(one)
    finished = {entry.title: Counterpart(obj, entry.state) for entry, obj in objects if entry.is_finished}
    for entry, obj in objects:
        if obj["kind"] == TRAIN_JOBS.kind and not is_trial(obj):
            v1_job = await _v1_job(client, obj)
            origin = Counterpart(v1_job, state_of(v1_job)) if v1_job else finished.get(mark(obj, SOURCE))
            found.setdefault(entry.title, []).extend([origin] if origin else [])
    return found


async def _v1_job(client: Client, train_job: Json) -> Json | None:
    """The v1 job that a TrainJob was created from, if it is in the cluster."""
    kind, _, place = mark(train_job, SOURCE).partition(" ")
    namespace, _, name = place.partition("/")
    resource = next((one.resource for one in JOB_KINDS if one.resource.kind == kind), None)
    found = await client.find(resource, name, namespace) if resource else None
    return resource.typed(found) if resource and found else None


async def _present(client: Client, obj: Json) -> Json | None:
    return await client.find(_resource(obj), obj["metadata"]["name"], obj["metadata"]["namespace"])


def _resource(obj: Json) -> Resource:
    try:
        return BY_KIND[obj["apiVersion"], obj["kind"]]
    except KeyError:
        raise InputError(f"a backup holds no {obj.get('apiVersion')} {obj.get('kind')}.") from None
