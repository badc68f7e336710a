"""Takes a backup: reads jobs, cleans them, checks by dry runs whether the server would accept them again, and writes them."""

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
from shunter.migrate.moving.backup.index import FORMAT, Entry, Index, is_job, needs_of, read_index, state_of
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.migrate.writing import write_whole

RESOURCES: tuple[Resource, ...] = (TRAINING_RUNTIMES, *(kind.resource for kind in JOB_KINDS), TRAIN_JOBS)
"""What is backed up, in the order in which it is restored: a TrainJob needs its runtime."""
BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


async def listed(client: Client, resource: Resource, namespaces: Collection[str]) -> list[Json]:
    """Every object of a resource in the namespaces (none: in all), whole; nothing when the kind is not served. ApiError."""
    found: list[Json] = []
    for namespace in sorted(namespaces) or [""]:
        try:
            items = (await client.list(resource, namespace)).items
        except NotFound:
            return []
        found += [resource.typed(item) for item in items]
    return found


async def everything(client: Client, namespaces: Collection[str]) -> list[Json]:
    """All that a backup of the namespaces holds, sorted."""
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
    """Writes a backup into `directory`, which must be new or empty; it is there whole, or not at all. An object that the server
    would not take back is in it all the same, and the index says why.

    InputError when the directory holds something; EnvironmentProblem when it cannot be written; ApiError when the server is away.
    """
    partial = _temporary_directory(directory)
    try:
        entries = []
        for obj in objects:
            refused = await _why_refused(client, clean(obj)) if verify else ""
            entries.append(_write(partial, obj, refused))
            done(entries[-1].title)
        index = Index(
            format=FORMAT,
            tool=f"shunter {__version__}",
            server=server,
            made=rfc3339(now),
            verified=verify,
            objects=tuple(entries),
        )
        write_whole(partial / BACKUP_INDEX, msgspec.yaml.encode(msgspec.to_builtins(index)).decode())
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
    """Puts objects into a backup, which is made where there is none; each takes the place of what had its name. The server is not
    asked. InputError when the directory holds something else, EnvironmentProblem when it cannot be written."""
    there = read_index(directory).objects if (directory / BACKUP_INDEX).exists() else ()
    entries = {entry.title: entry for entry in (*there, *(_write(directory, obj, "") for obj in objects))}
    index = Index(
        format=FORMAT,
        tool=f"shunter {__version__}",
        server=server,
        made=rfc3339(now),
        verified=False,
        objects=tuple(entries.values()),
    )
    write_whole(directory / BACKUP_INDEX, msgspec.yaml.encode(msgspec.to_builtins(index)).decode())


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
    """Whether a backup holds all these objects as they are now. InputError when it is none."""
    index = read_index(directory)
    held = {(entry.kind, entry.namespace, entry.name, entry.sha256) for entry in index.objects}
    places = ((obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in objects)
    return all((*place, digest_of(_content(obj))) in held for place, obj in zip(places, objects, strict=True))


async def _why_refused(client: Client, obj: Json) -> str:
    """What the server says against making the object again, in a dry run; empty when it would. That the name is taken means that
    everything before it was in order; so does a freeze of ours, which is taken away before anything is restored."""
    resource = BY_KIND[obj["apiVersion"], obj["kind"]]
    body = suspended(obj) if is_job(obj) else obj
    try:
        await client.create(resource, body, dry_run=True, field_validation="Strict")
    except AlreadyExists:
        return ""
    except (ConnectionProblem, Unauthorized):  # says nothing of this object
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
        refused=refused,
    )


def _content(obj: Json) -> bytes:
    return plain_text(clean(obj)).encode()


def _place(obj: Json) -> tuple[int, str, str]:
    resource = BY_KIND[obj["apiVersion"], obj["kind"]]
    return RESOURCES.index(resource), obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
