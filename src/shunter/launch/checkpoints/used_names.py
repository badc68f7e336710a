"""The names of jobs that have checkpoints in a place, which a new job must not get by itself: it would resume from theirs."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.launch.checkpoints.bucket_access import s3_variables
from shunter.launch.checkpoints.bucket_checkpoints import has_keys, names_in_bucket
from shunter.launch.checkpoints.location import CheckpointLocation, checkpoint_location
from shunter.launch.checkpoints.saved import names_with_checkpoints
from shunter.launch.options import Checkpoints
from shunter.operator.overview import overview


async def used_names(
    client: Client,
    namespace: str,
    place: Checkpoints | None,
    environment: Iterable[Json],
    notify: Callable[[str], None],
    *,
    name: str = "",
) -> set[str]:
    """The jobs, also deleted ones, that have anything below `place`: a directory of this machine, or a bucket on S3 for which the
    job has keys in its `environment`; and those in any namespace that will, as far as they may be listed. `notify` gets a
    sentence for a place of which they are not known, and if the `name` that the new job is given is one of them. InputError if a
    job that has not ended writes what one of this name would."""
    if place is None:
        return set()
    writers = [one for one in await writers_below(client, namespace, place) if (one.namespace, one.job) != (namespace, name)]
    if name:
        require_no_writer(f"--name {name}", writers, name)
    unknown, reason = f"not checked whether a deleted job of the same name has checkpoints in {place.title}", ""
    found: set[str] | None = names_with_checkpoints(place.directory) if place.directory else None
    if place.url.startswith("s3://"):
        variables = await s3_variables(client, namespace, environment)
        if has_keys(variables):
            try:
                found = await asyncio.to_thread(names_in_bucket, place.url, variables)
            except InputError as error:
                reason = f" ({error.message})"
    if found is None:
        notify(f"checkpoints: {unknown}{reason}; the program may resume from them")
    elif name in found:
        notify(f"checkpoints: {place.directory or place.url}/{name} exists, and the program may resume from it")
    return (found or set()) | {one.name for one in writers}


class Writer(NamedTuple):
    """A job that saves below a place, under `name`, which is another job's if it resumed that."""

    namespace: str
    job: str
    name: str
    state: str
    is_finished: bool


async def writers_below(client: Client, namespace: str, place: Checkpoints) -> list[Writer]:
    """The TrainJobs that save below this place: of all namespaces, or of this one if only its jobs may be listed. A claim is one
    of a namespace."""
    try:
        jobs = (await client.list(TRAIN_JOBS, namespace if place.claim else "")).items
    except Forbidden:
        jobs = (await client.list(TRAIN_JOBS, namespace)).items
    found = []
    for job in jobs:
        location = checkpoint_location(job)
        if location is not None and _is_below(location, place):
            row = overview({"kind": TRAIN_JOBS.kind, **job})
            found.append(Writer(row.namespace, row.name, location.name, row.state, row.is_finished))
    return found


def require_no_writer(option: str, writers: Iterable[Writer], name: str) -> None:
    """InputError if one of the jobs has not ended and saves under this name."""
    for one in writers:
        if one.name == name and not one.is_finished:
            raise InputError(
                f"{option}: TrainJob {one.namespace}/{one.job} is {one.state}, and two jobs would write the same checkpoints.",
                f"Wait until it has ended, or end it: shunter delete {one.job} -n {one.namespace}",
            )


def _is_below(location: CheckpointLocation, place: Checkpoints) -> bool:
    if place.directory:
        return location.directory is not None and location.directory.parent == Path(place.directory)
    if place.claim:
        return location.claim == place.claim and posixpath.dirname(location.inside) == place.inside
    return location.is_url and location.path.rpartition("/")[0] == place.url
