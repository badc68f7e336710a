"""Recreates the objects of a backup. `decided`, which is pure, decides what happens to each object; `restore` carries it out.

Three guarantees: a training that had finished is never started again, a v1 job and its TrainJob are never both started, and
existing objects are never overwritten. A file that is missing or was changed is one object less, and refused; the state of its
job, which the index has, still counts.
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
from shunter.migrate.moving.annotations import suspended_without_queue
from shunter.migrate.moving.backup.index import Entry, Index, is_job, read_entry, source_of, state_of
from shunter.migrate.moving.backup.saving import BY_KIND, listed
from shunter.migrate.moving.rollback_decisions import RolledBackTrainJob
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, is_suspended

_V1_KINDS = frozenset(kind.resource.kind for kind in JOB_KINDS)

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

    kind: str
    title: str
    name: str
    state: str
    """Now if it is in the cluster, else when it was backed up."""
    is_suspended: bool
    is_unread: bool = False
    """Whether only the index knows it: its file cannot be read, and the cluster does not have it."""
    is_certain: bool = True
    """False if it is not known whether it is a counterpart: only its file says what it was converted from."""


def counterpart(job: Json, state: str) -> Counterpart:
    """A job as a counterpart."""
    return Counterpart(job["kind"], title_of(job), job["metadata"]["name"], state, is_suspended(job))


def _unread(entry: Entry, *, is_certain: bool = True) -> Counterpart:
    is_waiting = entry.state == "Suspended"
    return Counterpart(entry.kind, entry.title, entry.name, entry.state, is_waiting, is_unread=True, is_certain=is_certain)


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
    known = [None if isinstance(obj, InputError) else obj for obj in read]
    same = await _counterparts(client, list(zip(entries, known, strict=True))) if choice.resume else {}
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
    is_finished = other.state in FINISHED_STATES
    if not other.is_certain:
        return f"{other.title} ({other.state}) may be the same training: its file, which says so, cannot be read"
    if other.is_unread and not is_finished:
        return "" if other.is_suspended else f"its {other.title} was {other.state}, and its file cannot be read"
    if other.kind == TRAIN_JOBS.kind:
        train_job = RolledBackTrainJob(is_finished=is_finished, is_running=not is_finished and not other.is_suspended)
        return train_job.objection(other.name, other.state)
    if is_finished:
        return f"its {other.title} has finished ({other.state}): resumed, it would train again"
    return "" if other.is_suspended else f"its {other.title} runs, and both would train"


async def _counterparts(client: Client, read: Sequence[tuple[Entry, Json | None]]) -> dict[str, list[Counterpart]]:
    """The counterparts of jobs of the backup, by the titles of the jobs; the object of an entry is None if it cannot be read.
    What the cluster no longer has is taken from the backup, and what had finished there counts always. If neither job of a
    training has finished, its TrainJob runs, and the v1 job does not."""
    found: dict[str, list[Counterpart]] = {}
    namespaces = {entry.namespace for entry, _ in read}
    present = {title_of(job): job for job in (await listed(client, TRAIN_JOBS, namespaces) if namespaces else [])}
    for job in present.values():
        if source := source_of(job):
            found.setdefault(source, []).append(counterpart(job, state_of(job)))
    finished = {entry.title: entry for entry, _ in read if entry.is_finished}
    for entry, obj in read:
        if entry.kind != TRAIN_JOBS.kind:
            continue
        source = _source(entry, obj, present.get(entry.title))
        if source is None:
            doubtful = [one.title for one, _ in read if one.namespace == entry.namespace and one.kind in _V1_KINDS]
            for title in doubtful:
                found.setdefault(title, []).append(_unread(entry, is_certain=False))
        elif source and (entry.is_finished or entry.title not in present):
            found.setdefault(source, []).append(counterpart(obj, entry.state) if obj else _unread(entry))
        if source and obj:
            v1_job = await _v1_job(client, source)
            origins = [counterpart(v1_job, state_of(v1_job))] if v1_job else []
            found.setdefault(entry.title, []).extend(origins + ([_unread(finished[source])] if source in finished else []))
    return found


def _source(entry: Entry, obj: Json | None, present: Json | None) -> str | None:
    """The title of the v1 job that a TrainJob of the backup was converted from, empty if there is none; None if unknown."""
    if entry.source is not None:
        return entry.source
    if obj is not None:
        return source_of(obj)
    return (source_of(present) or None) if present is not None else None


async def _v1_job(client: Client, title: str) -> Json | None:
    """The v1 job of that title (`PyTorchJob training/bert`), if it is in the cluster."""
    kind, _, place = title.partition(" ")
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
