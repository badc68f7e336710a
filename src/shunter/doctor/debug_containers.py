"""An ephemeral container in a rank's pod, from which its processes are looked at where its own image has no py-spy.

It sees the processes of the container that it targets and may trace them. It ends by itself after 15 minutes, and stays in the
pod's list, as Kubernetes removes none. A later look uses it again while it runs.
"""

from __future__ import annotations

import asyncio

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.kube.client import Client
from shunter.operator.causes.pods import STARTING

PREFIX = "shunter-doctor-"
LIFE_SECONDS = 900
START_SECONDS = 60.0
"""How long its image may take to come."""
_LOOK_SECONDS = 0.5
"""Reasons for which it is not there yet; any other says why it will not come."""


class NoDebugContainerError(Exception):
    """Why there is none, as half a sentence."""


async def debug_container(client: Client, pod: Json, target: str, image: str) -> str:
    """The name of one that runs beside the container `target`, added where there is none. Raises NoDebugContainerError, and
    ApiError where the server refuses it."""
    metadata = pod["metadata"]
    name = usable(pod, target, image)
    if not name:
        name = f"{PREFIX}{len(pod['spec'].get('ephemeralContainers') or ()) + 1}"
        patch = {"spec": {"ephemeralContainers": [definition(name, target, image)]}}
        await client.patch(
            PODS, metadata["name"], metadata["namespace"], patch, type="strategic", view=dict, subresource="ephemeralcontainers"
        )
    try:
        async with asyncio.timeout(START_SECONDS):
            while True:
                current: Json = await client.get(PODS, metadata["name"], metadata["namespace"], view=dict)
                if is_running(current, name):
                    return name
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError as error:
        raise NoDebugContainerError(f"the ephemeral container {name} did not start within {START_SECONDS:g} s") from error


def definition(name: str, target: str, image: str) -> Json:
    """The container. SYS_PTRACE is what reading another process' stack takes."""
    return {
        "name": name,
        "image": image,
        "command": ["sleep", str(LIFE_SECONDS)],
        "targetContainerName": target,
        "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}},
    }


def is_due(image: str, *, has_program: bool, is_tried: bool) -> bool:
    """Whether a pod is to get one from this image (empty for none): where py-spy is missing, once a run. One that does not come
    for the first sample does not come for the next, and each wait may take a minute."""
    return bool(image) and not has_program and not is_tried


def usable(pod: Json, target: str, image: str) -> str:
    """The name of one of ours that runs already; empty where there is none."""
    for container in pod["spec"].get("ephemeralContainers") or ():
        is_ours = container["name"].startswith(PREFIX) and container.get("image") == image
        if is_ours and container.get("targetContainerName") == target and _state(pod, container["name"]).get("running"):
            return str(container["name"])
    return ""


def is_running(pod: Json, name: str) -> bool:
    """Whether it runs; False while it may still come. Raises NoDebugContainerError where it will not."""
    state = _state(pod, name)
    if waiting := state.get("waiting"):
        reason = waiting.get("reason", "")
        if reason not in STARTING:
            said = f"{reason}: {waiting['message']}" if waiting.get("message") else reason
            raise NoDebugContainerError(f"the ephemeral container {name} cannot start: {said}")
    if terminated := state.get("terminated"):
        said = terminated.get("message") or f"exit code {terminated.get('exitCode')}"
        raise NoDebugContainerError(f"the ephemeral container {name} has ended: {said}")
    return "running" in state


def _state(pod: Json, name: str) -> Json:
    statuses = (pod.get("status") or {}).get("ephemeralContainerStatuses") or ()
    found: Json = next((one.get("state") or {} for one in statuses if one["name"] == name), {})
    return found
