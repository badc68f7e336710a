"""Level `simulated`: no processes. A pod runs from the moment it is bound, for as long as its annotations say.

shunter.dev/simulated-seconds     how long its containers run (default: for ever)
shunter.dev/simulated-exit-code   what they end with (default 0)
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from logging import getLogger

from shunter.api.formats.times import moment
from shunter.api.resources import PODS
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.containers import Attempt, Containers, ContainerState, Role, every
from shunter.cluster.node.pod.status import PodObservation, pod_status
from shunter.cluster.node.pod.status_writer import StatusWriter
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Conflict, NotFound

log = getLogger(__name__)

SECONDS_ANNOTATION = "shunter.dev/simulated-seconds"
EXIT_CODE_ANNOTATION = "shunter.dev/simulated-exit-code"
FOR_EVER = 10.0 * 365 * 24 * 3600
_RETRY_SECONDS = 1.0


class SimulatedPods:
    """All pods of a simulated node. Costs a timer and two status writes a pod."""

    def __init__(self, client: Client, statuses: StatusWriter, *, host_ip: str) -> None:
        self._client = client
        self._statuses = statuses
        self._host_ip = host_ip
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._deletions: dict[str, asyncio.Task[None]] = {}
        self._started = 0

    def update(self, pod: AssignedPod) -> None:
        """Handles a new or changed pod."""
        if pod.metadata.deletion_timestamp is not None:
            if pod.uid not in self._deletions:
                self._forget_end(pod)
                self._deletions[pod.uid] = asyncio.ensure_future(self._delete(pod))
            return
        if pod.uid in self._timers or pod.is_finished:
            return
        started = pod.status.get("startTime")
        begun = moment(started).timestamp() if started else time.time()
        if pod.status.get("phase") != "Running":
            self._report(pod, simulated_containers(pod, begun, None), begun)
        seconds = _number(pod, SECONDS_ANNOTATION, FOR_EVER)
        remaining = max(0.0, begun + seconds - time.time())
        self._timers[pod.uid] = asyncio.get_running_loop().call_later(remaining, self._end, pod, begun)

    def vanish(self, pod: AssignedPod) -> None:
        """Handles a pod that is gone."""
        self._forget_end(pod)
        self._deletions.pop(pod.uid, None)
        self._statuses.forget(pod.uid)

    def close(self) -> None:
        """Stops ending pods; running pods keep the status that the API server has."""
        for timer in self._timers.values():
            timer.cancel()

    def _forget_end(self, pod: AssignedPod) -> None:
        if timer := self._timers.pop(pod.uid, None):
            timer.cancel()

    def _end(self, pod: AssignedPod, started: float) -> None:
        self._report(pod, simulated_containers(pod, started, time.time()), started)

    def _report(self, pod: AssignedPod, containers: Containers, started: float, *, ended: bool = False) -> None:
        self._started += 1
        address = pod.status.get("podIP") or f"10.{self._started >> 16 & 255}.{self._started >> 8 & 255}.{self._started & 255}"
        observation = PodObservation(host_ip=self._host_ip, pod_ip=address, has_sandbox=True, started_at=started, ended=ended)
        self._statuses.write(pod, pod_status(pod.as_json(), containers, observation, datetime.now(UTC)))

    async def _delete(self, pod: AssignedPod) -> None:
        if pod.metadata.finalizers and not pod.is_finished:
            # A finalizer may keep the pod, as a Job's does, whose controller needs to know that the pod has ended.
            moment = time.time()
            self._report(pod, simulated_containers(pod, moment, None), moment, ended=True)
            await self._statuses.flush(pod.uid)
        while True:
            try:
                with suppress(NotFound, Conflict):
                    await self._client.delete(
                        PODS, pod.metadata.name, pod.metadata.namespace, uid=pod.uid, grace_period_seconds=0
                    )
                return
            except ApiError as error:
                log.warning("Pod %s could not be deleted, trying again: %s", pod.title, error.message)
                await asyncio.sleep(_RETRY_SECONDS)


def simulated_containers(pod: AssignedPod, started: float, finished: float | None) -> Containers:
    """The containers of a simulated pod: initialized at once, running, ready, and at the end all ended alike."""
    containers = {}
    for container, role in every(pod.spec):
        identifier = sha256(f"{pod.uid}/{container['name']}".encode()).hexdigest()
        attempt = Attempt(0, identifier, started)
        if role is Role.INIT:
            attempt = attempt._replace(finished_at=started, exit_code=0, reason="Completed")
        elif finished is not None:
            code = int(_number(pod, EXIT_CODE_ANNOTATION, 0)) if role is Role.MAIN else 0
            attempt = attempt._replace(finished_at=finished, exit_code=code, reason="Error" if code else "Completed")
        containers[container["name"]] = ContainerState(role, attempt, started=True, ready=True)
    return containers


def _number(pod: AssignedPod, annotation: str, default: float) -> float:
    text = pod.metadata.annotations.get(annotation, "")
    try:
        return float(text or default)
    except ValueError:
        log.warning("Pod %s: annotation %s is %r, no number; %g counts", pod.title, annotation, text, default)
        return default
