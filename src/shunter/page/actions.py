"""The actions that a viewer may perform on a job, each with its command line. `offered` and `get_command` are pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.access import Request, allowed
from shunter.kube.client import Client
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_finished, is_suspended
from shunter.operator.suspension import suspend_command
from shunter.page.wire import Action, ActionName

VERBS: Mapping[ActionName, str] = {"suspend": "patch", "resume": "patch", "delete": "delete", "rerun": "create"}
"""The permission that each action needs."""


class Commands(NamedTuple):
    """How shown command lines select the cluster."""

    options: str = ""
    """Options of shunter; begins with a blank."""
    kubectl: str = "kubectl"


def offered(job: Json, verbs: Collection[str], commands: Commands) -> tuple[Action, ...]:
    """The actions that the job's state and the permitted `verbs` allow. Pure. A job in a queue of Kueue is neither suspended nor
    resumed, because Kueue would undo it."""
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
    """The command line that shows the job in a terminal."""
    metadata = job["metadata"]
    return f"{commands.kubectl} get {job['kind'].lower()} {shlex.quote(metadata['name'])} -n {metadata['namespace']} -o yaml"


async def allowed_verbs(client: Client, resource: Resource, namespace: str) -> frozenset[str]:
    """The verbs of `VERBS` that the viewer is allowed, according to the API server."""
    requests = [Request(verb, resource, namespace) for verb in sorted(set(VERBS.values()))]
    return frozenset(request.verb for request, is_allowed in (await allowed(client, requests)).items() if is_allowed)
