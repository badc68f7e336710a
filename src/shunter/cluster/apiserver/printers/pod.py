"""A pod in one line: what its STATUS column says is decided here."""

from __future__ import annotations

from datetime import datetime

from shunter.api.core import FINISHED_PHASES
from shunter.api.formats.times import moment
from shunter.api.meta import Json
from shunter.cluster.apiserver.kinds import Column
from shunter.cluster.apiserver.printers.columns import AGE_COLUMN, NAME_COLUMN, Cells, Printer, age, since


def _cells(pod: Json, now: datetime) -> Cells:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    summary = _Summary(spec, status)
    reason = summary.reason
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in FINISHED_PHASES:
            reason = "Terminating"
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts = f"{summary.restarts} ({since(summary.last_restart, now)} ago)"
    addresses = status.get("podIPs") or ()
    return [
        pod["metadata"]["name"],
        f"{summary.ready}/{summary.total}",
        reason,
        restarts,
        age(pod, now),
        (addresses[0].get("ip") if addresses else "") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(spec, status),
    ]


_ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def _conditions(pod: Json) -> list[Json]:
    """A pod that has ended is no longer of interest."""
    phase = (pod.get("status") or {}).get("phase", "")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


def _readiness_gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    true = {c["type"] for c in status.get("conditions") or () if c.get("status") == "True"}
    return f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}"


class _Summary:
    """Containers counted: how many are ready, how often they were restarted, and the word for it all."""

    def __init__(self, spec: Json, status: Json) -> None:
        self.total = len(spec.get("containers") or ())
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.reason = status.get("reason") or status.get("phase") or ""
        for condition in status.get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        init_containers = {container["name"]: container for container in spec.get("initContainers") or ()}
        self._sidecars = {name for name, c in init_containers.items() if c.get("restartPolicy") == "Always"}
        self.total += len(self._sidecars)
        initializing = self._look_at_init_containers(status, len(init_containers))
        if not initializing or _is_true(status, "Initialized"):
            self._look_at_containers(status)

    def _look_at_init_containers(self, status: Json, total: int) -> bool:
        """Whether one of them is still at work."""
        statuses = status.get("initContainerStatuses") or ()
        for index, container in enumerate(statuses):
            self._count_restarts(container)
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting")
            if terminated and not terminated.get("exitCode"):
                continue
            if container["name"] in self._sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if terminated:
                self.reason = "Init:" + _why(terminated)
            elif waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
                self.reason = "Init:" + waiting["reason"]
            else:
                self.reason = f"Init:{index}/{total}"
            return True
        return False

    def _look_at_containers(self, status: Json) -> None:
        self.restarts, self.last_restart = 0, ""
        for container in status.get("initContainerStatuses") or ():
            if container["name"] in self._sidecars:
                self._count_restarts(container)
        running, failure = False, ""
        for container in reversed(status.get("containerStatuses") or ()):
            self._count_restarts(container)
            state = container.get("state") or {}
            waiting, terminated = state.get("waiting"), state.get("terminated")
            if waiting and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated:
                self.reason = _why(terminated)
                if terminated.get("exitCode"):
                    failure = self.reason
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and _is_true(status, "Ready"):
                self.reason = "Running"
            elif failure:
                self.reason = failure
            elif running:
                self.reason = "NotReady"

    def _count_restarts(self, container: Json) -> None:
        self.restarts += container.get("restartCount") or 0
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if finished and (not self.last_restart or moment(self.last_restart) < moment(finished)):
            self.last_restart = finished


def _why(terminated: Json) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_true(status: Json, type: str) -> bool:
    return any(c["type"] == type and c.get("status") == "True" for c in status.get("conditions") or ())


PRINTER = Printer(
    (
        NAME_COLUMN,
        *(Column(name, "string", "") for name in ("Ready", "Status", "Restarts")),
        AGE_COLUMN,
        *(Column(name, "string", "", priority=1) for name in ("IP", "Node", "Nominated Node", "Readiness Gates")),
    ),
    _cells,
    _conditions,
)
"""Not a function a column, as all of them count the containers, and there are more pods than anything else."""
