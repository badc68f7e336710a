"""The status of a pod, from what is known about its containers. Pure.

Source: kubelet 1.36 `generateAPIPodStatus`, `getPhase`, `convertToAPIContainerStatuses` and package `status`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from shunter.api.core import FINISHED_PHASES
from shunter.api.meta import Json, rfc3339
from shunter.cluster.node.pod.containers import Attempt, Containers, ContainerState, Role, Waiting, declared, ephemeral
from shunter.cluster.node.pod.lifecycle import will_restart

RUNTIME = "shunter"
OWNED_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


class PodObservation(NamedTuple):
    """What a status is made of besides the containers. Addresses are empty until known."""

    host_ip: str
    pod_ip: str = ""
    has_sandbox: bool = False
    started_at: float = 0.0
    """When the node first saw the pod; seconds since the epoch."""
    ending: bool = False
    """The pod is being stopped: what has ended stays ended, whatever its restart policy."""
    ended: bool = False
    """Nothing of it runs or will run: one that never got to run has failed then (kubelet: TerminatePod)."""
    phase: str = ""
    """Decided from outside, e.g. Failed when the pod ran past its deadline; empty: it follows from the containers."""
    reason: str = ""
    message: str = ""


def pod_status(pod: Json, containers: Containers, observation: PodObservation, now: datetime) -> Json:
    """The whole status, conditions of others included."""
    spec, before = pod["spec"], pod.get("status") or {}
    phase = observation.phase or pod_phase(spec, containers, ending=observation.ending)
    if observation.ended and phase not in FINISHED_PHASES:
        phase = "Failed"
    if before.get("phase") in FINISHED_PHASES:
        phase = before["phase"]
    statuses = {container["name"]: _container_status(spec, container, containers) for container, _ in declared(spec)}
    status: Json = {
        "phase": phase,
        "observedGeneration": pod["metadata"].get("generation"),
        "reason": observation.reason or before.get("reason"),
        "message": observation.message or before.get("message"),
        "hostIP": observation.host_ip,
        "hostIPs": [{"ip": observation.host_ip}],
        "podIP": observation.pod_ip or None,
        "podIPs": [{"ip": observation.pod_ip}] if observation.pod_ip else None,
        "qosClass": before.get("qosClass"),
        "startTime": before.get("startTime") or rfc3339(datetime.fromtimestamp(observation.started_at, UTC)),
        "conditions": _conditions(pod, containers, observation, phase, now),
        "containerStatuses": [statuses[container["name"]] for container, role in declared(spec) if role is Role.MAIN],
    }
    if added := ephemeral(spec):
        status["ephemeralContainerStatuses"] = [_ephemeral_status(spec, container, containers) for container in added]
    inits = [statuses[container["name"]] for container, role in declared(spec) if role is not Role.MAIN]
    if inits:
        status["initContainerStatuses"] = inits
    return {key: value for key, value in status.items() if value is not None}


def pod_phase(spec: Json, containers: Containers, *, ending: bool) -> str:
    """Pending, Running, Succeeded or Failed (kubelet: getPhase)."""
    mains = [state for state in containers.values() if state.role is Role.MAIN]
    sidecars = [state for state in containers.values() if state.role is Role.SIDECAR]
    initialized = any(state.attempt is not None and state.attempt.started_at for state in mains)
    pending_inits = 0
    for container, role in declared(spec):
        if role is not Role.INIT:
            continue
        last = _last_run(containers[container["name"]])
        if last is None:
            pending_inits += 1
        elif last.exit_code and not will_restart(spec, container, role, last.exit_code):
            return "Failed"
    pending_sidecars = sum(1 for state in sidecars if (not state.started if state.is_running else _last_run(state) is None))
    waiting = sum(1 for state in mains if not state.is_running and _last_run(state) is None)
    waiting += sum(1 for state in sidecars if not state.is_running and _last_run(state) is None)
    if pending_inits or (pending_sidecars and not initialized) or waiting:
        return "Pending"
    if any(state.is_running for state in (*mains, *sidecars)):
        return "Running"
    endings = [
        (container, last.exit_code or 0)
        for container, role in declared(spec)
        if role is Role.MAIN and (last := _last_run(containers[container["name"]])) is not None
    ]
    if not endings:
        return "Pending"
    if not ending and any(will_restart(spec, container, Role.MAIN, code) for container, code in endings):
        return "Running"
    return "Failed" if any(code for _, code in endings) else "Succeeded"


def with_external_conditions(status: Json, observed: Json) -> Json:
    """The status with the conditions that other controllers own, taken from the last observed status."""
    conditions = [one for one in status.get("conditions") or () if one["type"] in OWNED_CONDITIONS]
    conditions += [one for one in observed.get("conditions") or () if one["type"] not in OWNED_CONDITIONS]
    return {**status, "conditions": conditions}


def is_ready(status: Json) -> bool:
    """Whether a pod's status, as JSON, has the condition Ready with True."""
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())


def container_state(state: ContainerState, *, has_inits: bool) -> Json:
    """The `state` of a container status."""
    if state.waiting is not None:
        return _waiting_state(state.waiting)
    if state.attempt is None or not (state.attempt.started_at or state.attempt.is_over):
        return _waiting_state(Waiting("PodInitializing" if has_inits else "ContainerCreating"))
    return _attempt_state(state.attempt)


def _container_status(spec: Json, container: Json, containers: Containers) -> Json:
    state = containers[container["name"]]
    described = container_state(state, has_inits=bool(spec.get("initContainers")))
    # A container in back-off waits: its last run moves to lastState.
    last = state.attempt if "waiting" in described and state.is_over else state.previous
    shown = state.attempt if state.attempt is not None and (state.attempt.started_at or state.is_over) else state.previous
    done = state.role is Role.INIT and state.has_succeeded
    status: Json = {
        "name": container["name"],
        "state": described,
        "lastState": _attempt_state(last) if last is not None else {},
        "ready": done or (state.is_running and state.started and state.ready),
        "restartCount": shown.number if shown is not None else 0,
        "image": container.get("image", ""),
        "imageID": "",
        "started": state.is_running and state.started,
    }
    if shown is not None:
        status["containerID"] = f"{RUNTIME}://{shown.id}"
        status["imageID"] = f"{RUNTIME}://local"
    if container.get("resources"):
        status["resources"] = container["resources"]
        if container["resources"].get("requests"):
            status["allocatedResources"] = container["resources"]["requests"]
    return status


def _ephemeral_status(spec: Json, container: Json, containers: Containers) -> Json:
    """The status of an ephemeral container, which is never ready and never `started`: it has no probes."""
    status = _container_status(spec, container, containers)
    return {name: value for name, value in status.items() if name != "started"} | {"ready": False}


def _attempt_state(attempt: Attempt) -> Json:
    if not attempt.is_over:
        return {"running": {"startedAt": _time(attempt.started_at)}}
    terminated: Json = {
        "exitCode": attempt.exit_code,
        "reason": attempt.reason,
        "startedAt": _time(attempt.started_at),
        "finishedAt": _time(attempt.finished_at),
        "containerID": f"{RUNTIME}://{attempt.id}",
    }
    if attempt.message:
        terminated["message"] = attempt.message
    return {"terminated": terminated}


def _waiting_state(waiting: Waiting) -> Json:
    return {"waiting": {"reason": waiting.reason, **({"message": waiting.message} if waiting.message else {})}}


def _conditions(pod: Json, containers: Containers, observation: PodObservation, phase: str, now: datetime) -> list[Json]:
    spec = pod["spec"]
    before = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    ready = _containers_ready(spec, containers, phase)
    wanted = {
        "PodReadyToStartContainers": ("True" if observation.has_sandbox else "False", "", ""),
        "Initialized": _initialized(spec, containers, phase),
        "Ready": _gated(spec, ready, before.values()),
        "ContainersReady": ready,
        "PodScheduled": ("True", "", ""),
    }
    conditions = [one for type, one in before.items() if type not in OWNED_CONDITIONS]
    for type, (status, reason, message) in wanted.items():
        old = before.get(type, {})
        condition: Json = {
            "type": type,
            "status": status,
            "observedGeneration": pod["metadata"].get("generation"),
            "reason": reason or None,
            "message": message or None,
            "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == status else rfc3339(now),
        }
        conditions.append({"lastProbeTime": None} | {key: value for key, value in condition.items() if value is not None})
    return conditions


def _containers_ready(spec: Json, containers: Containers, phase: str) -> tuple[str, str, str]:
    if phase in FINISHED_PHASES:
        return "False", "PodCompleted" if phase == "Succeeded" else "PodFailed", ""
    unready = [
        container["name"]
        for container, role in declared(spec)
        if role is not Role.INIT and not _is_ready(containers[container["name"]])
    ]
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "True", "", ""


def _gated(spec: Json, ready: tuple[str, str, str], conditions: Iterable[Json]) -> tuple[str, str, str]:
    """ContainersReady, held back by the pod's readiness gates."""
    if ready[0] != "True":
        return ready
    statuses = {one["type"]: one["status"] for one in conditions}
    messages = []
    for gate in spec.get("readinessGates") or ():
        type = gate["conditionType"]
        if type not in statuses:
            messages.append(f'corresponding condition of pod readiness gate "{type}" does not exist.')
        elif statuses[type] != "True":
            messages.append(f'the status of pod readiness gate "{type}" is not "True", but {statuses[type]}')
    return ("False", "ReadinessGatesNotReady", ", ".join(messages)) if messages else ready


def _initialized(spec: Json, containers: Containers, phase: str) -> tuple[str, str, str]:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if any(state.attempt is not None and state.attempt.started_at for state in containers.values() if state.role is Role.MAIN):
        return "True", "", ""
    incomplete = [container["name"] for container, _ in declared(spec) if not _is_initialized(containers[container["name"]])]
    if incomplete:
        return "False", "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"
    return "True", "", ""


def _is_initialized(state: ContainerState) -> bool:
    if state.role is Role.MAIN:
        return True
    return state.has_succeeded if state.role is Role.INIT else state.is_running and state.started


def _is_ready(state: ContainerState) -> bool:
    return state.is_running and state.started and state.ready


def _last_run(state: ContainerState) -> Attempt | None:
    """The newest attempt that has ended."""
    if state.attempt is not None and state.attempt.is_over:
        return state.attempt
    return None if state.is_running else state.previous


def _time(moment: float) -> str:
    return rfc3339(datetime.fromtimestamp(moment, UTC))
