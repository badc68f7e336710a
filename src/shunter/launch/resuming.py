"""From whose checkpoints a job made from a program goes on (`--resume JOB`), and whether it is known that there are none."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.launch.annotations import RESUMED
from shunter.launch.checkpoints.bucket_access import s3_variables
from shunter.launch.checkpoints.bucket_checkpoints import bucket_below, damage_in_bucket, has_keys, server_variables
from shunter.launch.checkpoints.location import CheckpointLocation, listing_command
from shunter.launch.checkpoints.saved import FORMS, newest_damage, others_below, reader, require_writable, saved_files, steps_of
from shunter.launch.checkpoints.used_names import require_no_writer, writers_below
from shunter.launch.objects import CHECKPOINT_VARIABLE, MUST_RESUME_VARIABLE, checkpoints_of
from shunter.launch.options import LaunchOptions


async def with_resumed_place(
    client: Client, namespace: str, options: LaunchOptions, notify: Callable[[str], None]
) -> LaunchOptions:
    """The options with the place of the checkpoints of the job to resume, as that job says it. `notify` gets a sentence where
    it is not checked that there are some. InputError if only a deleted job could name the place, for another place than the
    job's, and for a bucket without a complete checkpoint: the program would train from the beginning."""
    if not options.resume:
        return options
    option, given = f"--resume {options.resume}", options.checkpoints
    if any(variable["name"] == CHECKPOINT_VARIABLE for variable in options.environment):
        raise InputError(
            f"{option} and the variable {CHECKPOINT_VARIABLE} both name a checkpoint to resume from.", "Leave one of them out."
        )
    try:
        job = await client.get(TRAIN_JOBS, options.resume, namespace)
    except NotFound:
        if given is not None and not given.directory:
            raise InputError(
                f"{option}: there is no TrainJob {namespace}/{options.resume}, and {given.title} cannot be "
                "listed from this machine.",
                f"If it was deleted and its checkpoints still exist, give the new job its name: --name {options.resume} "
                f"-e {MUST_RESUME_VARIABLE}=true",
            ) from None
        return options
    title, own = f"TrainJob {namespace}/{options.resume}", checkpoints_of(job)
    chosen = given or own
    if chosen is None:
        raise InputError(
            f"{option}: {title} does not name the location of its checkpoints.",
            "Name the location: --checkpoints CLAIM, DIR or URL.",
        )
    if own is not None and own != chosen and not chosen.directory:
        raise InputError(
            f"{option}: {title} saves its checkpoints in {own.title}, not in {chosen.title}.", "Leave --checkpoints out."
        )
    # A job that went on from another's checkpoints has added to those.
    name = annotations_of(job).get(RESUMED, options.resume)
    unchecked = f"not checked whether {chosen.title} contains checkpoints of {name}"
    if chosen.claim:
        notify(f"{unchecked}; the program must find one")
    if chosen.url:
        await _require_saved_in_bucket(client, namespace, options, job, f"{chosen.url}/{name}", unchecked, notify)
    return dataclasses.replace(options, checkpoints=chosen, resume=name)


async def require_resumable(client: Client, namespace: str, options: LaunchOptions) -> None:
    """InputError where the place of the checkpoints of the job to resume is not said, where it or another that resumed it still
    trains, as two would write the same ones, and where it is known that it has saved none: in a directory of this machine."""
    if not options.resume:
        return
    place, option = options.checkpoints, f"--resume {options.resume}"
    if place is None:
        raise InputError(
            f"{option}: neither --checkpoints nor a TrainJob {namespace}/{options.resume} names the location of its checkpoints.",
            f"If it was deleted, give the new job its name and the location: --name {options.resume} "
            f"-e {MUST_RESUME_VARIABLE}=true --checkpoints CLAIM or URL",
        )
    require_no_writer(option, await writers_below(client, namespace, place), options.resume)
    if not place.directory:
        return
    directory = Path(place.directory) / options.resume
    files = saved_files(directory)
    if not any(step.is_complete for step in steps_of(files)):
        raise InputError(
            f"{option}: no complete checkpoint in {directory}.",
            f"{FORMS} To go on from other files there, delete the job and give its name to the new one: --name {options.resume}"
            if others_below(directory)
            else "List jobs with checkpoints: shunter checkpoints",
        )
    require_writable(f"{option}: {directory}", str(directory))
    _require_whole(option, str(directory), *newest_damage(files, reader(directory)))


async def _require_saved_in_bucket(
    client: Client,
    namespace: str,
    options: LaunchOptions,
    job: Json,
    url: str,
    unchecked: str,
    notify: Callable[[str], None],
) -> None:
    """With the credentials that the new job is given, else those of this shell, and on the server that the other job names."""
    option, given = f"--resume {options.resume}", await s3_variables(client, namespace, options.environment)
    whose, variables = ("the job", given) if has_keys(given) else ("this shell", server_variables(job))
    try:
        bucket = await asyncio.to_thread(bucket_below, url, variables)
        damaged = await asyncio.to_thread(damage_in_bucket, bucket)
    except InputError as error:
        notify(f"{unchecked} ({error.message}); the program must find one")
        return
    if not any(step.is_complete for step in steps_of(bucket.files)):
        raise InputError(
            f"{option}: with the credentials of {whose} there is no complete checkpoint in {url}.",
            f"List the location: {listing_command(job, CheckpointLocation(url))}",
        )
    _require_whole(option, url, *damaged)


def _require_whole(option: str, place: str, step: str, fault: str) -> None:
    if fault:
        raise InputError(
            f"{option}: {place}/{step} is damaged: {fault}.", "Remove it, and training resumes from the previous one."
        )
