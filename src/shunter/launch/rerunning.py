"""A job of the cluster once more, under a free name: the same program and options, or the same spec.

What has been trained is never trained on under its own name: checkpoints are found by it. So names that the job's own number
follows (`train` of `train-2`) are not used again, even where no job has them any more.
"""

from __future__ import annotations

from collections.abc import Callable

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.api.titles import object_title
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists
from shunter.launch.annotations import PROGRAM
from shunter.launch.checkpoints.used_names import used_names
from shunter.launch.copied_job import copied_job, name_of_first
from shunter.launch.names import earlier_names, free_name
from shunter.launch.objects import checkpoints_of
from shunter.launch.runtimes.choice import require_rerun_fits, runtime_of_job
from shunter.launch.submitting import job_names, resubmit, silent, write


async def rerun(
    client: Client,
    resource: Resource,
    job: Json,
    *,
    name: str = "",
    on_this_machine: bool = False,
    notify: Callable[[str], None] = silent,
) -> Json:
    """The job that was made, under `name` or else a free one: NAME-2, NAME-3, ... `on_this_machine` is whether directories of its
    pods are directories here. `notify` gets sentences about delays, and where the program may resume from another's checkpoints.
    Raises InputError for a given name that is taken, when the code of a program is no longer in the cluster, and for whatever the
    server refuses."""
    metadata = job["metadata"]
    namespace, first = metadata["namespace"], name_of_first(job)
    used = earlier_names(metadata["name"], first)
    if resource == TRAIN_JOBS and PROGRAM in annotations_of(job):
        place = checkpoints_of(job)
        if place is not None and (on_this_machine or not place.directory):
            environment = job["spec"]["trainer"].get("env") or ()
            used |= await used_names(client, namespace, place, environment, notify, name=name)
        return (await resubmit(client, job, name=name, taken=used, notify=notify)).job
    used |= await job_names(client, namespace)
    runtime = await runtime_of_job(client, job) if resource == TRAIN_JOBS else None
    while True:
        chosen = name or free_name(first, used)
        require_rerun_fits(runtime, job, chosen)
        try:
            return await write(client, resource, copied_job(job, chosen), notify)
        except AlreadyExists:
            if name:
                title = object_title(resource.kind, namespace, name)
                raise InputError(
                    f"--name {name}: {title} exists.", "Use another name, or omit --name to get a free one."
                ) from None
            used.add(chosen)
