"""The functions behind the routes other than event streams of views. Each looks up its job with the viewer's credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module

from shunter.api.meta import Json
from shunter.api.resources import PODS, Resource
from shunter.errors import InputError
from shunter.jobs.lookup import get_job, resource_of_kind
from shunter.operator.overview import is_pod_of
from shunter.page.acting import act
from shunter.page.calls import Calls, LogQuery
from shunter.page.logs import frames, whole_log
from shunter.page.object_text import object_text
from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import JobMigrationDetail, LogLines


async def found_job(viewer: Viewer, parameters: Parameters) -> tuple[Resource, Json]:
    """The job and its resource. Raises NotFound if there is none, and InputError for a kind that is not shown."""
    resource = resource_of_kind(parameters.kind)
    return resource, await get_job(viewer.client, resource, parameters.namespace, parameters.name)


async def follow_logs(viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[LogLines]:
    """Yields the lines, in pieces; with `follow`, the first piece is empty. Raises what `found_job` does."""
    resource, found_object = await found_job(viewer, job)
    if query.follow:
        yield LogLines(lines=())  # So that the stream opens before the first line is written.
    async with aclosing(frames(viewer.client, resource, found_object, query)) as found:
        async for frame in found:
            yield frame


async def log_file(viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
    """Yields the whole log, in pieces (`whole_log`). Ignores `find`, `since` and `follow` of the query."""
    _, found = await found_job(viewer, job)
    async with aclosing(whole_log(viewer.client, found, query.ranks)) as pieces:
        async for piece in pieces:
            yield piece


async def yaml(viewer: Viewer, job: Parameters, pod: str, *, reveal: bool) -> str:
    """YAML of the job, or of one of its pods. Raises InputError for a pod of another job, and NotFound if there is none."""
    _, found = await found_job(viewer, job)
    if pod:
        shown = PODS.typed(await viewer.client.get(PODS, pod, job.namespace))
        if not is_pod_of(found, shown):
            raise InputError(f"Pod {job.namespace}/{pod} is not a pod of {job.kind} {job.name}.")
        return object_text(shown, shows_credentials=reveal)
    return object_text(found, shows_credentials=reveal)


async def job_migration(viewer: Viewer, job: Parameters) -> JobMigrationDetail:
    """The migration of one v1 job. The first call imports the code in a thread, as that would block the event loop for long."""
    module = await asyncio.to_thread(import_module, "shunter.page.migration_job")
    found: JobMigrationDetail = await module.job_migration(viewer, job)
    return found


CALLS = Calls(follow_logs=follow_logs, log_file=log_file, yaml=yaml, act=act, job_migration=job_migration)
