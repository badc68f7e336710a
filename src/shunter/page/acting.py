"""Does what a viewer asked for with a job.

A job that has changed since it was shown, or was deleted and made again under its name, is left alone (Conflict, 409). Every
write has the uid and resourceVersion of the job that was looked at as its preconditions; a status written in between is no change
that matters, and the job is looked at again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.titles import object_title, title_of
from shunter.errors import InputError
from shunter.jobs.deletion import request_deletion
from shunter.jobs.finding import get_job, resource_of_kind
from shunter.kube.client import Client
from shunter.kube.errors import Conflict, Status
from shunter.launch.checkpoints.saved import names_with_checkpoints
from shunter.launch.objects import checkpoint_directory
from shunter.launch.rerunning import rerun
from shunter.operator.overview import job_state
from shunter.operator.suspension import suspend_patch
from shunter.page.actions import VERBS, Commands, offered
from shunter.page.views.jobs import STATES
from shunter.page.views.view import Viewer
from shunter.page.wire import ActionName, ActionRequest, Answer

_TRIES = 3


async def act(viewer: Viewer, action: ActionName, request: ActionRequest) -> Answer:
    """Does it. Conflict when the job is not the one, or not as, the viewer saw; InputError for an action that makes no sense for
    the job; NotFound when it is gone."""
    resource = resource_of_kind(request.kind)
    for is_last in (*[False] * (_TRIES - 1), True):
        job = await get_job(viewer.client, resource, request.namespace, request.name)
        _require_seen(job, request)
        if action not in {one.name for one in offered(job, VERBS.values(), Commands())}:
            raise InputError(f"{action}: {title_of(job)} is not in a state for it.", "Look at the job again.")
        try:
            return await _ACTIONS[action](viewer, resource, job)
        except Conflict:
            if is_last:
                raise
    raise AssertionError


def _require_seen(job: Json, request: ActionRequest) -> None:
    """Conflict for another job than the request is about, or one that has changed since."""
    metadata = job["metadata"]
    is_alike = (metadata.get("generation", 0), STATES[job_state(job)]) == (request.generation, request.state)
    if metadata["uid"] != request.uid:
        problem = "was deleted, and another one of its name was made"
    elif metadata["resourceVersion"] != request.resource_version and not is_alike:
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
    taken = names_with_checkpoints(checkpoint_directory(job)) if viewer.page.is_embedded else set[str]()
    made = (await rerun(viewer.client, resource, job, taken=taken))["metadata"]
    title = object_title(resource.kind, made["namespace"], made["name"])
    return Answer(message=f"{title} was created.", url=f"/jobs/{made['namespace']}/{resource.kind}/{made['name']}")


async def _patch(client: Client, resource: Resource, job: Json, *, suspend: bool) -> None:
    metadata = job["metadata"]
    seen = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    patch = {"metadata": seen, **suspend_patch(job, suspend=suspend)}
    await client.patch(resource, metadata["name"], metadata["namespace"], patch)


_Perform = Callable[[Viewer, Resource, Json], Awaitable[Answer]]
_ACTIONS: Mapping[ActionName, _Perform] = {"suspend": _suspend, "resume": _resume, "delete": _delete, "rerun": _rerun}
