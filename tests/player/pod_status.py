"""The pod status a `pods` step sets: there is no node, so the player says how pods are doing."""

from __future__ import annotations

from typing import Any

from player.shape import Json

START = "2026-01-01T00:00:00Z"
END = "2026-01-01T00:00:01Z"


def pod_status(pod: Json, step: Json) -> Json:
    """The status of a pod in `phase`; `exitCode` and `reason` apply to `container`, or to all containers."""
    phase = step["phase"]
    ready = "True" if phase == "Running" else "False"
    status: Json = {
        "phase": phase,
        "containerStatuses": [_container_status(container, step) for container in pod["spec"]["containers"]],
        "startTime": START,
        "conditions": [{"type": type, "status": ready, "lastTransitionTime": START} for type in ("Ready", "ContainersReady")],
    }
    if step.get("reason") in ("Evicted", "NodeLost", "Preempting"):
        status["reason"] = step["reason"]
    return status


def _container_status(container: Json, step: Json) -> Json:
    running = step["phase"] == "Running"
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": running,
        "started": running,
        "restartCount": step.get("restartCount", 0),
        "state": _state(container["name"], step),
        "lastState": {},
    }


def _state(container: str, step: Json) -> dict[str, Any]:
    if step["phase"] == "Running":
        return {"running": {"startedAt": START}}
    if step["phase"] == "Pending":
        return {"waiting": {"reason": step.get("reason", "ContainerCreating")}}
    code = 0
    if step.get("container", container) == container:
        code = step.get("exitCode", 0 if step["phase"] == "Succeeded" else 1)
    reason = step.get("reason", "Error" if code else "Completed")
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": START, "finishedAt": END}}
