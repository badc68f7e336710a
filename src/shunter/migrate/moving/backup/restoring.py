"""Recreates the objects of a backup. `decided`, which is pure, decides what happens to each object; `restore` carries it out.

Two guarantees: a training that had finished is never started again, and existing objects are never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from shunter.migrate.moving.backup.index import Entry, Index, is_job, read_entry
from shunter.migrate.moving.backup.saving import BY_KIND, listed
from shunter.migrate.moving.rollback_decisions import RolledBackTrainJob
from shunter.migrate.moving.runs.trial_labels import is_trial
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_suspended, overview

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


def decided(entry: Entry, obj: Json, present: Json | None, choice: Choice, others: Iterable[Json] = ()) -> Decision:
    """The decision about an object. `obj` is the backed-up object, `present` the current one of that name, `others` the jobs of
    the cluster that are the same training: the TrainJobs created from a v1 job, the v1 job of a TrainJob."""
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
    """The decisions about all objects, or those in the namespaces `only`. Reads the cluster, changes nothing. InputError if a
    file of the backup was changed."""
    namespaces = frozenset(only)
    entries = [entry for entry in index.objects if not namespaces or entry.namespace in namespaces]
    if unknown := namespaces - {entry.namespace for entry in index.objects}:
        raise InputError(
            f"{directory}: holds no objects of namespace {', '.join(sorted(unknown))}.",
            f"It has those of: {', '.join(sorted({entry.namespace for entry in index.objects})) or 'none'}.",
        )
    objects = [read_entry(directory, entry) for entry in entries]
    train_jobs = await _converted_train_jobs(client, entries) if choice.resume else {}
    found = []
    for entry, obj in zip(entries, objects, strict=True):
        origin = await _v1_job(client, obj) if choice.resume else None
        others = [*train_jobs.get(entry.title, ()), *([origin] if origin else ())]
        found.append(decided(entry, obj, await _present(client, obj), choice, others))
    return found


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


def _objection(other: Json) -> str:
    row = overview(other)
    if other["kind"] == TRAIN_JOBS.kind:
        rolled_back = RolledBackTrainJob(is_finished=row.is_finished, is_running=not row.is_finished and not is_suspended(other))
        return rolled_back.objection(row.name, row.state)
    if row.is_finished:
        return f"its {title_of(other)} has finished ({row.state}): resumed, it would train again"
    return "" if is_suspended(other) else f"its {title_of(other)} runs, and both would train"


async def _v1_job(client: Client, obj: Json) -> Json | None:
    """The v1 job that a TrainJob was created from, if it is in the cluster; a trial may run beside it."""
    kind, _, place = mark(obj, SOURCE).partition(" ")
    namespace, _, name = place.partition("/")
    resource = next((one.resource for one in JOB_KINDS if one.resource.kind == kind), None)
    if obj["kind"] != TRAIN_JOBS.kind or resource is None or is_trial(obj):
        return None
    found = await client.find(resource, name, namespace)
    return found and resource.typed(found)


async def _converted_train_jobs(client: Client, entries: Iterable[Entry]) -> dict[str, list[Json]]:
    """The TrainJobs (not trials) that were created from v1 jobs, by the titles of the v1 jobs."""
    found: dict[str, list[Json]] = {}
    namespaces = {entry.namespace for entry in entries}
    for job in await listed(client, TRAIN_JOBS, namespaces) if namespaces else ():
        if not is_trial(job):
            found.setdefault(mark(job, SOURCE), []).append(job)
    return found


async def _present(client: Client, obj: Json) -> Json | None:
    return await client.find(_resource(obj), obj["metadata"]["name"], obj["metadata"]["namespace"])


def _resource(obj: Json) -> Resource:
    try:
        return BY_KIND[obj["apiVersion"], obj["kind"]]
    except KeyError:
        raise InputError(f"a backup holds no {obj.get('apiVersion')} {obj.get('kind')}.") from None
