"""Takes a backup: reads jobs, cleans them, checks with dry runs whether the server would accept them again, and writes them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from shunter import __version__
from shunter.api.meta import Json, rfc3339
from shunter.api.ownership import owner_of
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.disk import sync_directory
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, ConnectionProblem, NotFound, Unauthorized
from shunter.migrate.conversion.cleaning import clean, digest_of, suspended
from shunter.migrate.conversion.emit.job import plain_text
from shunter.migrate.moving import freeze
from shunter.migrate.moving.backup.index import FORMAT, Entry, Index, is_job, needs_of, read_index, source_of, state_of
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.migrate.writing import write_whole

RESOURCES: tuple[Resource, ...] = (TRAINING_RUNTIMES, *(kind.resource for kind in JOB_KINDS), TRAIN_JOBS)
"""The resources in a backup, in the order of a restore: a TrainJob needs its runtime."""
BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


async def listed(client: Client, resource: Resource, namespaces: Collection[str]) -> list[Json]:
    """All objects of a resource in the namespaces (all if empty); none if the kind is not served. ApiError."""
    found: list[Json] = []
    for namespace in sorted(namespaces) or [""]:
        try:
            items = (await client.list(resource, namespace)).items
        except NotFound:
            return []
        found += [resource.typed(item) for item in items]
    return found


async def everything(client: Client, namespaces: Collection[str]) -> list[Json]:
    """All objects that a backup of the namespaces contains, sorted."""
    found = [obj for resource in RESOURCES for obj in await listed(client, resource, namespaces)]
    return sorted(found, key=_place)


async def take(
    client: Client,
    directory: Path,
    objects: Iterable[Json],
    *,
    server: str,
    now: datetime,
    verify: bool = True,
    done: Callable[[str], None] = lambda title: None,
) -> Index:
    """Writes a backup into `directory`, which must be new or empty; only a complete backup gets this name. Objects that the
    server would not accept again are included, with the reason in the index.

    InputError if the directory is not empty; EnvironmentProblem if it cannot be written; ApiError if the server does not respond.
    """
    partial = _temporary_directory(directory)
    try:
        entries = []
        for obj in objects:
            refused = await _why_refused(client, clean(obj)) if verify else ""
            entries.append(_write(partial, obj, refused))
            done(entries[-1].title)
        index = _write_index(partial, entries, server, now, verified=verify)
        try:
            partial.replace(directory)
            sync_directory(directory.parent)
        except OSError as error:
            raise _not_writable(directory, error) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return index


def add(directory: Path, objects: Iterable[Json], *, server: str, now: datetime) -> None:
    """Adds objects to a backup, which is created if there is none; each replaces an earlier one of its name. No dry run is made.
    InputError if the directory is not a backup, EnvironmentProblem if it cannot be written."""
    there = read_index(directory).objects if (directory / BACKUP_INDEX).exists() else ()
    entries = {entry.title: entry for entry in (*there, *(_write(directory, obj, "") for obj in objects))}
    _write_index(directory, entries.values(), server, now, verified=False)


def _write_index(directory: Path, entries: Iterable[Entry], server: str, now: datetime, *, verified: bool) -> Index:
    tool = f"shunter {__version__}"
    index = Index(format=FORMAT, tool=tool, server=server, made=rfc3339(now), verified=verified, objects=tuple(entries))
    write_whole(directory / BACKUP_INDEX, msgspec.yaml.encode(msgspec.to_builtins(index)).decode())
    return index


def _temporary_directory(directory: Path) -> Path:
    """Creates a temporary folder beside `directory`, which is renamed once the backup is complete."""
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise InputError(f"{directory}: is not empty.", "A backup goes into a directory of its own: name a new one.")
        directory.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise _not_writable(directory, error) from error


def _not_writable(directory: Path, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(f"{directory}: cannot write a backup: {error.strerror}.", "Name another folder.")


def holds(directory: Path, objects: Sequence[Json]) -> bool:
    """Whether a backup contains all these objects as they are now. InputError if the directory is not a backup."""
    index = read_index(directory)
    entries = {(entry.kind, entry.namespace, entry.name, entry.sha256) for entry in index.objects}
    places = ((obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in objects)
    return all((*place, digest_of(_content(obj))) in entries for place, obj in zip(places, objects, strict=True))


async def _why_refused(client: Client, obj: Json) -> str:
    """Why the server would not accept the object again, by a dry run; empty if it would. AlreadyExists means that all other
    checks have passed; so does a rejection by our own freeze, which is removed before a restore."""
    resource = BY_KIND[obj["apiVersion"], obj["kind"]]
    body = suspended(obj) if is_job(obj) else obj
    try:
        await client.create(resource, body, dry_run=True, field_validation="Strict")
    except AlreadyExists:
        return ""
    except (ConnectionProblem, Unauthorized):  # not about this object
        raise
    except ApiError as error:
        return "" if is_job(obj) and freeze.refuses(error) else error.message
    return ""


def _write(directory: Path, obj: Json, refused: str) -> Entry:
    body = clean(obj)
    metadata = body["metadata"]
    resource = BY_KIND[body["apiVersion"], body["kind"]]
    file = Path(metadata["namespace"]) / resource.full_name / f"{metadata['name']}.yaml"
    content = _content(obj)
    write_whole(directory / file, content.decode())
    return Entry(
        file=file.as_posix(),
        sha256=digest_of(content),
        api_version=body["apiVersion"],
        kind=body["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        state=state_of(obj),
        owner=owner_of(obj),
        needs=needs_of(obj),
        source=source_of(obj),
        refused=refused,
    )


def _content(obj: Json) -> bytes:
    return plain_text(clean(obj)).encode()


def _place(obj: Json) -> tuple[int, str, str]:
    resource = BY_KIND[obj["apiVersion"], obj["kind"]]
    return RESOURCES.index(resource), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
