"""An ephemeral container with py-spy in a rank's pod, for images without it.

It sees the processes of its target container and may trace them. It ends after 15 minutes, and stays in the pod's list, as
Kubernetes removes none. Later samples use it again while it runs.
"""

from __future__ import annotations

import asyncio

from shunter.api.core import STARTING
from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.kube.client import Client

PREFIX = "shunter-doctor-"
LIFE_SECONDS = 900
START_SECONDS = 60.0
"""How long it may take to start, including the pull of its image."""
_POLL_SECONDS = 0.5


class NoDebugContainerError(Exception):
    """Why the ephemeral container does not run, as half a sentence."""


async def debug_container(client: Client, pod: Json, target: str, image: str) -> str:
    """The name of a running ephemeral container for the container `target`, which is added if there is none. Raises
    NoDebugContainerError, and ApiError if the server refuses it."""
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
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise NoDebugContainerError(f"the ephemeral container {name} did not start within {START_SECONDS:g} s") from error


def definition(name: str, target: str, image: str) -> Json:
    """The container. Reading the stack of another process needs SYS_PTRACE."""
    return {
        "name": name,
        "image": image,
        "command": ["sleep", str(LIFE_SECONDS)],
        "targetContainerName": target,
        "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}},
    }


def is_due(image: str, *, has_program: bool, is_tried: bool) -> bool:
    """Whether to add one with this image (empty for none): if py-spy is missing, and once per diagnosis, as each attempt may wait
    a minute."""
    return bool(image) and not has_program and not is_tried


def usable(pod: Json, target: str, image: str) -> str:
    """The name of one of ours that already runs; empty if there is none."""
    for container in pod["spec"].get("ephemeralContainers") or ():
        is_ours = container["name"].startswith(PREFIX) and container.get("image") == image
        if is_ours and container.get("targetContainerName") == target and _state(pod, container["name"]).get("running"):
            return str(container["name"])
    return ""


def is_running(pod: Json, name: str) -> bool:
    """Whether it runs; False while it may still start. Raises NoDebugContainerError if it cannot."""
    state = _state(pod, name)
    if waiting := state.get("waiting"):
        reason = waiting.get("reason", "")
        if reason not in STARTING:
            why = f"{reason}: {waiting['message']}" if waiting.get("message") else reason
            raise NoDebugContainerError(f"the ephemeral container {name} cannot start: {why}")
    if terminated := state.get("terminated"):
        why = terminated.get("message") or f"exit code {terminated.get('exitCode')}"
        raise NoDebugContainerError(f"the ephemeral container {name} has ended: {why}")
    return "running" in state


def _state(pod: Json, name: str) -> Json:
    statuses = (pod.get("status") or {}).get("ephemeralContainerStatuses") or ()
    found: Json = next((one.get("state") or {} for one in statuses if one["name"] == name), {})
    return found
