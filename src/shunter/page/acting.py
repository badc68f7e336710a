"""Performs a viewer's action on a job.

If the job has changed since it was shown, or was deleted and created again, nothing is done (Conflict, 409). Every write has the
uid and resourceVersion that were read before as preconditions; if only the status was written in between, it is tried again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.titles import object_title, title_of
from shunter.errors import InputError
from shunter.jobs.deletion import request_deletion
from shunter.jobs.lookup import get_job, resource_of_kind
from shunter.kube.client import Client
from shunter.kube.errors import Conflict, Status
from shunter.launch.rerunning import rerun
from shunter.operator.overview import job_state
from shunter.operator.suspension import suspend_patch
from shunter.page.actions import VERBS, Commands, offered
from shunter.page.views.jobs import STATES
from shunter.page.views.view import Viewer
from shunter.page.wire import ActionName, ActionRequest, Answer

_TRIES = 3


async def act(viewer: Viewer, action: ActionName, request: ActionRequest) -> Answer:
    """Performs the action. Raises Conflict if the job has changed since it was shown, InputError for an action that its state
    excludes, and NotFound if the job was deleted."""
    resource = resource_of_kind(request.kind)
    for is_last in (*[False] * (_TRIES - 1), True):
        job = await get_job(viewer.client, resource, request.namespace, request.name)
        _require_unchanged(job, request)
        if action not in {one.name for one in offered(job, VERBS.values(), Commands())}:
            raise InputError(f"{action}: not possible in the current state of {title_of(job)}.", "Look at the job again.")
        try:
            return await _ACTIONS[action](viewer, resource, job)
        except Conflict:
            if is_last:
                raise
    raise AssertionError


def _require_unchanged(job: Json, request: ActionRequest) -> None:
    """Raises Conflict if the job is another one than that of the request, or has changed in spec or state."""
    metadata = job["metadata"]
    is_unchanged = (metadata.get("generation", 0), STATES[job_state(job)]) == (request.generation, request.state)
    if metadata["uid"] != request.uid:
        problem = "was deleted, and another job of this name was created"
    elif metadata["resourceVersion"] != request.resource_version and not is_unchanged:
        problem = "has changed since it was shown"
    else:
        return
    status = Status(code=409, reason="Conflict", message=f"{title_of(job)} {problem}.")
    raise Conflict(status, remedy="Look at it again, then repeat the action.")


async def _suspend(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await _patch(viewer.client, resource, job, suspend=True)
    return Answer(message=f"{title_of(job)} is being suspended: its pods end, its spec stays.")


async def _resume(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await _patch(viewer.client, resource, job, suspend=False)
    return Answer(message=f"{title_of(job)} is resumed.")


async def _delete(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await request_deletion(viewer.client, resource, job, resource_version=job["metadata"]["resourceVersion"])
    return Answer(message=f"{title_of(job)} is being deleted: its pods end first.")


async def _rerun(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    notes: list[str] = []
    again = await rerun(viewer.client, resource, job, on_this_machine=viewer.page.is_embedded, notify=notes.append)
    made = again["metadata"]
    title = object_title(resource.kind, made["namespace"], made["name"])
    message = " ".join((f"{title} was created.", *(f"{note[0].upper()}{note[1:]}." for note in notes)))
    return Answer(message=message, url=f"/jobs/{made['namespace']}/{resource.kind}/{made['name']}")


async def _patch(client: Client, resource: Resource, job: Json, *, suspend: bool) -> None:
    metadata = job["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    patch = {"metadata": precondition, **suspend_patch(job, suspend=suspend)}
    await client.patch(resource, metadata["name"], metadata["namespace"], patch)


_Perform = Callable[[Viewer, Resource, Json], Awaitable[Answer]]
_ACTIONS: Mapping[ActionName, _Perform] = {"suspend": _suspend, "resume": _resume, "delete": _delete, "rerun": _rerun}
