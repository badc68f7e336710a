"""The checkpoints that jobs have saved, on this machine or in a bucket that can be listed from here; or why none is found."""

from __future__ import annotations

import asyncio

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.launch.checkpoints.bucket_checkpoints import saved_in_bucket
from shunter.launch.checkpoints.location import CheckpointLocation, checkpoint_location, listing_command
from shunter.launch.checkpoints.saved import FORMS, SavedCheckpoints, others_below, saved_checkpoints


async def listed_checkpoints(target: Target, job: str = "", namespace: str = "") -> list[SavedCheckpoints]:
    """What all jobs, or this one, have saved in directories of this machine; this one also in its bucket. InputError for a job of
    which nothing is found, saying where it saves and how to list that."""
    async with target.client as client:
        trained = await _train_jobs(client, namespace)
    everything = saved_checkpoints(target.embedded.checkpoints, trained) if target.embedded is not None else []
    found = [one for one in everything if namespace in ("", one.namespace)]
    if not job:
        return found
    meant = {one["metadata"]["namespace"]: one for one in trained if one["metadata"]["name"] == job}
    places = {space: place for space, one in meant.items() if (place := checkpoint_location(one)) is not None}
    # A job that is there says itself where it saves; of one that is gone its directory has the name.
    names = {space: place.name for space, place in places.items()}
    own = [one for one in found if one.job == names.get(one.namespace, job)]
    if len(own) > 1:
        spaces = ", ".join(one.namespace for one in own)
        raise InputError(f"jobs {job!r} of several namespaces have checkpoints: {spaces}.", "Name one with -n.")
    if own:
        return own
    buckets = {space: place for space, place in places.items() if place.is_url}
    if len(buckets) > 1:
        raise InputError(f"jobs {job!r} of several namespaces save in buckets: {', '.join(buckets)}.", "Name one with -n.")
    reason = ""
    for space, place in buckets.items():
        steps, reason = await asyncio.to_thread(saved_in_bucket, meant[space], place.path)
        if steps:
            return [SavedCheckpoints(space, place.name, place.path, steps)]
    raise InputError(*nothing_saved(job, meant, places, reason))


def nothing_saved(job: str, meant: dict[str, Json], places: dict[str, CheckpointLocation], reason: str = "") -> tuple[str, str]:
    """Why no checkpoint of a job is shown, and what to do. By namespace the jobs of that name, and where those save that do;
    `reason` is why a bucket could not be listed."""
    if not meant:
        text = f"there is no job {job!r}, and no job of that name has saved a checkpoint on this machine."
        return text, "List jobs with checkpoints: shunter checkpoints"
    if not places:
        text = f"job {job!r} has no checkpoint location."
        return text, "Set one: shunter run PROGRAM --checkpoints CLAIM or URL."
    space, place = next(iter(places.items()))
    whose = f", in the location of {place.name}" if place.name != job else ""
    if place.directory is not None:
        if other := others_below(place.directory):
            return f"job {job!r} has saved no checkpoint of a known form{whose}: {place.title} holds {other}.", FORMS
        return f"job {job!r} has saved no checkpoint yet{whose}: there is none in {place.title}.", ""
    command = listing_command(meant[space], place)
    if place.is_url and not reason:
        text = (
            f"job {job!r} has saved no checkpoint yet{whose}: with the credentials of this shell there is none in {place.title}."
        )
        return text, f"List the location: {command}"
    why = f"cannot be listed from this machine: {reason}" if reason else "cannot be read from this machine"
    return f"job {job!r} saves in {place.title}{whose}, which {why}.", f"List it with: {command}"


async def _train_jobs(client: Client, namespace: str) -> list[Json]:
    """None on a cluster that has no TrainJobs."""
    try:
        return list((await client.list(TRAIN_JOBS, namespace)).items)
    except NotFound:
        return []
