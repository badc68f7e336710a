"""What a viewer may do with a job, the command line that does the same, and doing it. `offered` is pure.

Every request has the uid and resourceVersion of the job that was seen as its preconditions: one that was changed meanwhile, or
deleted and made again under its name, is left alone (Conflict, 409).
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.errors import InputError
from shunter.jobs.deletion import request_deletion
from shunter.kube.access import Request, allowed
from shunter.kube.client import Client
from shunter.kube.errors import Conflict, Status
from shunter.launch.checkpoints import names_with_checkpoints
from shunter.launch.objects import checkpoint_directory
from shunter.launch.rerunning import rerun
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import SHOWN_RESOURCES, is_finished, is_suspended
from shunter.operator.suspension import suspend_command, suspend_patch
from shunter.page.views.view import Viewer
from shunter.page.wire import Action, ActionRequest, Answer

VERBS = {"suspend": "patch", "resume": "patch", "delete": "delete", "rerun": "create"}
"""What an action needs to be allowed."""
_RESOURCES = {resource.kind: resource for resource in SHOWN_RESOURCES}


class Commands(NamedTuple):
    """How command lines name the cluster."""

    options: str = ""
    """Of shunter; begins with a blank."""
    kubectl: str = "kubectl"


def commands_of(viewer: Viewer) -> Commands:
    return Commands(viewer.options, viewer.kubectl)


def offered(job: Json, verbs: Collection[str], commands: Commands) -> tuple[Action, ...]:
    """The actions that make sense for the job as it is, of those that the allowed `verbs` suffice for. Pure. A job in a queue of
    Kueue is neither suspended nor resumed: Kueue does that, and would undo it."""
    metadata = job["metadata"]
    if metadata.get("deletionTimestamp"):
        return ()
    named = f"{job['kind'].lower()}/{metadata['name']} -n {metadata['namespace']}{commands.options}"
    found = []
    if not is_finished(job) and not queue_name(job):
        suspends = not is_suspended(job)
        command = suspend_command(job, suspend=suspends, kubectl=commands.kubectl)
        found.append(Action(name="suspend" if suspends else "resume", command=command))
    found.append(Action(name="rerun", command=f"shunter run --rerun {named} --detach"))
    found.append(Action(name="delete", command=f"shunter delete {named}", asks_name=True))
    return tuple(action for action in found if VERBS[action.name] in verbs)


def get_command(job: Json, commands: Commands) -> str:
    """What shows the job in a terminal."""
    metadata = job["metadata"]
    return f"{commands.kubectl} get {job['kind'].lower()} {shlex.quote(metadata['name'])} -n {metadata['namespace']} -o yaml"


async def allowed_verbs(client: Client, resource: Resource, namespace: str) -> frozenset[str]:
    """Those of the verbs that actions need and the viewer may use, as the API server says."""
    requests = [Request(verb, resource, namespace) for verb in sorted(set(VERBS.values()))]
    return frozenset(request.verb for request, is_allowed in (await allowed(client, requests)).items() if is_allowed)


async def act(viewer: Viewer, action: str, request: ActionRequest) -> Answer:
    """Does it. Conflict when the job is not the one, or not as, the viewer saw; InputError for an action that makes no sense for
    the job; NotFound when it is gone."""
    resource = _RESOURCES.get(request.kind)
    perform = _ACTIONS.get(action)
    if resource is None or perform is None:
        raise InputError(f"{action[:80]!r} of {request.kind[:80]!r} is not an action.")
    found = await viewer.client.get(resource, request.name, request.namespace)
    job = {"apiVersion": resource.api_version, "kind": resource.kind, **found}
    _require_seen(job, request)
    if action not in {one.name for one in offered(job, VERBS.values(), Commands())}:
        raise InputError(f"{action}: {_title(job)} is not in a state for it.", "Look at the job again.")
    return await perform(viewer, resource, job)


def _require_seen(job: Json, request: ActionRequest) -> None:
    """Conflict for another job, or another version, than the request is about. Those that write say it once more."""
    metadata = job["metadata"]
    if metadata["uid"] != request.uid:
        problem = "was deleted, and another one of its name was made"
    elif metadata["resourceVersion"] != request.resource_version:
        problem = "has changed since it was shown"
    else:
        return
    status = Status(code=409, reason="Conflict", message=f"{_title(job)} {problem}.")
    raise Conflict(status, remedy="Look at it again, then repeat the action.")


async def _suspend(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await _patch(viewer.client, resource, job, suspend=True)
    return Answer(message=f"{_title(job)} is being suspended: its pods end, its spec stays.")


async def _resume(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await _patch(viewer.client, resource, job, suspend=False)
    return Answer(message=f"{_title(job)} is resumed.")


async def _delete(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    await request_deletion(viewer.client, resource, job, resource_version=job["metadata"]["resourceVersion"])
    return Answer(message=f"{_title(job)} is being deleted: its pods end first.")


async def _rerun(viewer: Viewer, resource: Resource, job: Json) -> Answer:
    taken = names_with_checkpoints(checkpoint_directory(job)) if viewer.is_embedded else set[str]()
    made = (await rerun(viewer.client, resource, job, taken=taken))["metadata"]
    title = f"{resource.kind} {made['namespace']}/{made['name']}"
    return Answer(message=f"{title} was created.", url=f"/jobs/{made['namespace']}/{resource.kind}/{made['name']}")


async def _patch(client: Client, resource: Resource, job: Json, *, suspend: bool) -> None:
    metadata = job["metadata"]
    seen = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    patch = {"metadata": seen, **suspend_patch(job, suspend=suspend)}
    await client.patch(resource, metadata["name"], metadata["namespace"], patch)


def _title(job: Json) -> str:
    return f"{job['kind']} {job['metadata']['namespace']}/{job['metadata']['name']}"


_Perform = Callable[[Viewer, Resource, Json], Awaitable[Answer]]
_ACTIONS: Mapping[str, _Perform] = {"suspend": _suspend, "resume": _resume, "delete": _delete, "rerun": _rerun}
