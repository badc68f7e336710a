"""Finds the job to diagnose by its name; also a JobSet without a TrainJob."""

from __future__ import annotations

import asyncio

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, Resource
from shunter.doctor.jobsets import as_training
from shunter.errors import InputError
from shunter.jobs.lookup import find
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.operator.overview import SHOWN_RESOURCES


async def readable_job(client: Client, name: str, namespace: str = "") -> tuple[Resource, Json]:
    """The job `NAME` or `KIND/NAME`, among the kinds that may be listed; `jobset/NAME` is a JobSet without a TrainJob. InputError
    if there is none, or more than one."""
    if name.lower().startswith("jobset/"):
        return await _own_jobset(client, name.partition("/")[2], namespace)

    async def may_list(resource: Resource) -> bool:
        try:
            await client.list(resource, namespace)
        except (Forbidden, NotFound):
            return False
        return True

    try:
        return await find(client, name, namespace)
    except Forbidden:
        may = await asyncio.gather(*map(may_list, SHOWN_RESOURCES))
        readable = [resource for resource, is_allowed in zip(SHOWN_RESOURCES, may, strict=True) if is_allowed]
        if not readable:
            raise
        return await find(client, name, namespace, among=readable)


def as_job(resource: Resource, found: Json) -> Json:
    """An object of a list or a GET, with its kind; a JobSet as the job that it stands for."""
    return as_training(found) if resource == JOBSETS else resource.typed(found)


async def _own_jobset(client: Client, name: str, namespace: str) -> tuple[Resource, Json]:
    found = (await client.list(JOBSETS, namespace, field_selector=f"metadata.name={name}")).items
    if len(found) != 1:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        raise InputError(
            f"there {'is no JobSet' if not found else f'are {len(found)} JobSets'} {name!r} {where}.",
            "Specify the namespace with -n.",
        )
    return JOBSETS, as_job(JOBSETS, found[0])
