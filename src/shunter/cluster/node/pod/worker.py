"""One pod from its arrival to its removal: carries out what `lifecycle` decides, and reports what `pod_status` says.

The worker holds no truth of its own. What runs is in the attempts' files, what should run is in the pod; after a restart of the
agent the files are read again and the loop goes on as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from logging import getLogger
from typing import NamedTuple

from shunter.api.core import FINISHED_PHASES
from shunter.api.formats.times import moment
from shunter.api.meta import Json
from shunter.api.network_policies import NetworkPod, named_ports
from shunter.api.resources import PODS
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.net.names import Endpoint
from shunter.cluster.node.pod import container_attempts, lifecycle
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.container_set import ContainerSet, EventType, PodCallbacks
from shunter.cluster.node.pod.container_start import ContainerStarter, StartDependencies, StartProblem, has_refreshable_volumes
from shunter.cluster.node.pod.containers import Waiting
from shunter.cluster.node.pod.status import (
    PodObservation,
    container_state,
    is_ready,
    pod_phase,
    pod_status,
    with_external_conditions,
)
from shunter.cluster.node.pod.status_writer import StatusWriter
from shunter.cluster.node.retry_times import RetryTimes
from shunter.cluster.node.runtime.launcher import LauncherError
from shunter.cluster.node.runtime.protocol import uses_host_network
from shunter.cluster.node.server.kubelet_api import ContainerLog, LogUnavailableError
from shunter.cluster.node.server.stats import MeasuredContainer
from shunter.cluster.node.streams.port_forward import ForwardedPod
from shunter.cluster.node.streams.remote_command import StreamRefusedError
from shunter.cluster.node.streams.sessions import RunningContainer
from shunter.kube.controllers.plan import Note
from shunter.kube.errors import ApiError, Conflict, NotFound
from shunter.kube.events import EventRecorder

log = getLogger(__name__)

QUIET_START_SECONDS = 0.2
"""A pod that starts at once is not reported as Pending first: that write would only be in the way of the next one."""
VOLUME_REFRESH_SECONDS = 60.0
DEFAULT_GRACE_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_WHOLE_POD = ""
_DEADLINE_EXCEEDED = ("Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class NodeServices(NamedTuple):
    """What all workers of a node share."""

    dependencies: StartDependencies
    statuses: StatusWriter
    recorder: EventRecorder
    names_changed: Callable[[], None]
    refusal: Callable[[Json], str]
    """Why a pod of this spec is not run here; empty when it is."""
    max_restart_period: float
    """The longest wait between two runs of a container, in seconds."""


class PodWorker:
    """Runs one pod. `update` and `vanish` tell it what the API server says; `run` ends when nothing of the pod is left."""

    def __init__(self, pod: AssignedPod, directory: PodDirectory, services: NodeServices) -> None:
        self._pod = pod
        self._directory = directory
        self._node_services = services
        self._wake = asyncio.Event()
        self._starter = ContainerStarter(services.dependencies, directory)
        callbacks = PodCallbacks(
            probe_address=lambda: services.dependencies.runtime.probe_address(self._starter.address),
            wake=self._wake.set,
            note=self._note,
            grace=lambda: self._grace(ending=False),
            ended=self._starter.release_group,
        )
        self._containers = ContainerSet(pod.spec, directory, services.dependencies.launcher, callbacks)
        self._retries = RetryTimes()
        self._arrived = time.time()
        self._reported: Json = {}
        self._overdue = False
        self._vanished = False
        self._released = False
        self._is_cleared = False
        self._refused = False
        self._refresh_at = self._arrived + VOLUME_REFRESH_SECONDS
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def pod(self) -> AssignedPod:
        """The pod as the API server had it last."""
        return self._pod

    @property
    def containers(self) -> ContainerSet:
        """The pod's containers and what is known of them."""
        return self._containers

    @property
    def is_finished(self) -> bool:
        """Whether all containers have ended for good: the pod has no name and no network any more."""
        return self._released or self._pod.is_finished

    @property
    def endpoint(self) -> Endpoint:
        """What the pod contributes to DNS."""
        metadata, spec = self._pod.metadata, self._pod.spec
        return Endpoint(
            namespace=metadata.namespace,
            name=metadata.name,
            labels=metadata.labels,
            hostname=spec.get("hostname", ""),
            subdomain=spec.get("subdomain", ""),
            address=self._starter.address,
            ready=is_ready(self._reported),
        )

    @property
    def network_pod(self) -> NetworkPod:
        """What NetworkPolicies know of the pod."""
        metadata, spec = self._pod.metadata, self._pod.spec
        has_network = not uses_host_network({"spec": spec})
        address = self._starter.address if has_network else ""
        return NetworkPod(metadata.uid, metadata.namespace, metadata.name, metadata.labels, address, named_ports(spec))

    def measured(self) -> list[MeasuredContainer]:
        """The running containers, to be measured."""
        metadata = self._pod.metadata
        found = []
        for name, state in self._containers.states.items():
            if state.attempt is None or not state.is_running:
                continue
            root = container_attempts.supervisor(self._directory.attempt(name, state.attempt.number))
            if root:
                found.append(
                    MeasuredContainer(metadata.namespace, metadata.name, self._pod.uid, name, root, state.attempt.started_at)
                )
        return found

    def container_log(self, container: str, *, previous: bool) -> ContainerLog:
        """Where a container's log is. Raises LogUnavailableError with kubelet's words."""
        name = self._pod.metadata.name
        state = self._containers.states.get(container)
        if state is None:
            raise LogUnavailableError(404, f'container "{container}" in pod "{name}" is not available')
        attempt = state.previous if previous else state.attempt or state.previous
        if attempt is None and previous:
            raise LogUnavailableError(400, f'previous terminated container "{container}" in pod "{name}" not found')
        directory = None if attempt is None else self._directory.attempt(container, attempt.number)
        if attempt is None or directory is None or not (directory / "log").exists():
            reason = container_state(state, has_inits=bool(self._pod.spec.get("initContainers"))).get("waiting", {}).get("reason")
            raise LogUnavailableError(
                400, f'container "{container}" in pod "{name}" is waiting to start: {reason or "no logs available yet"}'
            )
        return ContainerLog(
            directory / "log",
            lambda: (
                previous or container_attempts.has_ended(directory) or not self._is_current_and_active(container, attempt.number)
            ),
        )

    def running_container(self, container: str) -> RunningContainer:
        """Where commands are run. Raises StreamRefusedError with kubelet's words."""
        state = self._containers.states.get(container)
        if state is None or state.attempt is None or not state.attempt.is_running:
            raise StreamRefusedError(500, f'container not found ("{container}")')
        directory = self._directory.attempt(container, state.attempt.number)
        return RunningContainer(directory, self._containers.spec(container))

    def forwarded_pod(self) -> ForwardedPod:
        """The pod whose ports are forwarded. Raises StreamRefusedError with kubelet's words."""
        metadata, runtime = self._pod.metadata, self._node_services.dependencies.runtime
        if not any(state.is_running for state in self._containers.states.values()):
            raise StreamRefusedError(500, f'pod not found ("{metadata.name}_{metadata.namespace}")')
        body = self._pod.as_json()
        return ForwardedPod(metadata.name, metadata.uid, lambda port: runtime.connect(body, self._directory, port))

    def _is_current_and_active(self, container: str, number: int) -> bool:
        attempt = self._containers.states[container].attempt
        return attempt is not None and attempt.number == number and not attempt.is_over

    def update(self, pod: AssignedPod) -> None:
        """The pod changed on the server."""
        if self._node_services.statuses.was_overruled(pod):
            self._reported = pod.status
            self._wake.set()
        if _relevant(pod) != _relevant(self._pod):
            self._wake.set()
        self._pod = pod
        self._containers.add_new(pod.spec)

    def vanish(self) -> None:
        """The pod is no longer on the server (deleted by force, or by us at the end)."""
        self._vanished = True
        self._wake.set()

    def close(self) -> None:
        """The agent stops; the pod runs on."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._containers.close()

    def adopt(self) -> None:
        """Takes over what an earlier agent left of the pod. All pods are adopted before any of them runs: a new one must not get
        the address or port of one that runs already."""
        self._starter.adopt()
        self._containers.adopt()
        self._node_services.names_changed()

    async def run(self) -> None:
        """Works until the pod is gone from the server and from this machine."""
        while not (self._vanished and not self._containers.any_active):
            self._wake.clear()
            try:
                wake_in = await self._turn()
            except (LauncherError, OSError) as error:
                log.error("Pod %s: %s", self._pod.title, error)
                wake_in = _RETRY_SECONDS
            except Exception:
                # Without its worker the pod would show what it was last seen to do for ever.
                log.exception("Pod %s", self._pod.title)
                wake_in = _RETRY_SECONDS
            if not self._vanished or self._containers.any_active:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wake_in):
                        await self._wake.wait()
        self.close()
        self._node_services.statuses.forget(self._pod.uid)
        await self._remove()
        self._node_services.names_changed()

    async def _remove(self) -> None:
        """Tries until it is done: whatever stayed would keep its address."""
        while True:
            try:
                return await self._starter.remove()
            except (LauncherError, OSError) as error:
                log.error("Pod %s could not be removed, trying again: %s", self._pod.title, error)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _turn(self) -> float | None:
        """Observes, decides, acts, reports. Returns the seconds after which to look again; None means only at an event."""
        self._containers.observe()
        now = time.time()
        deadline = self._deadline()
        if not self._overdue and deadline is not None and now >= deadline and not self._is_settled():
            self._overdue = True
            self._note("Normal", *_DEADLINE_EXCEEDED[1:])
        waits: list[float | None] = []
        if self._is_ending():
            decision = lifecycle.decide_stop(self._pod.spec, self._containers.states)
        else:
            decision = lifecycle.decide(
                self._pod.spec, self._containers.states, now, max_period=self._node_services.max_restart_period
            )
            await self._start_all(decision.start)
            self._show_back_off(decision.back_off)
            waits += [decision.wake_in, self._retries.next_wait(now), self._refresh_volumes(now)]
            waits.append(deadline - now if deadline is not None and not decision.finished else None)
        for name in decision.stop:
            self._containers.stop(name, self._grace(ending=self._is_ending()), f"Stopping container {name}")
        waits.append(self._report(now))
        if decision.finished:
            await self._finish()
        return min((wait for wait in waits if wait is not None), default=None)

    def _is_ending(self) -> bool:
        """Whether all containers have to end, whatever their restart policy."""
        return self._vanished or self._overdue or self._pod.is_finished or self._pod.metadata.deletion_timestamp is not None

    def _is_settled(self) -> bool:
        return pod_phase(self._pod.spec, self._containers.states, ending=self._is_ending()) in FINISHED_PHASES

    def _deadline(self) -> float | None:
        seconds = self._pod.spec.get("activeDeadlineSeconds")
        return None if seconds is None else self._started_at() + float(seconds)

    def _started_at(self) -> float:
        shown = self._pod.status.get("startTime")
        return moment(shown).timestamp() if shown else self._arrived

    def _grace(self, *, ending: bool) -> float:
        if self._vanished:
            return 0.0
        seconds = self._pod.metadata.deletion_grace_period_seconds if ending else None
        if seconds is None:
            seconds = self._pod.spec.get("terminationGracePeriodSeconds")
        return DEFAULT_GRACE_SECONDS if seconds is None else float(seconds)

    async def _start_all(self, names: Iterable[str]) -> None:
        """Starts what may start; what cannot start for now shows why."""
        if names and (refusal := self._node_services.refusal(self._pod.spec)):
            if not self._refused:
                self._refused = True
                self._show_problem(names, StartProblem("Refused", refusal, event="Refused", event_message=refusal))
            return
        for name in names:
            now = time.time()
            if self._retries.wait(name, now) > 0 or self._retries.wait(_WHOLE_POD, now) > 0:
                continue
            if not self._starter.is_prepared and not await self._prepare(names):
                return
            container = self._containers.spec(name)
            try:
                events = await self._starter.start(self._pod, container, self._containers.next_number(name))
            except StartProblem as problem:
                self._retries.failed(name, now)
                self._show_problem([name], problem)
                continue
            self._retries.succeeded(name)
            self._containers.follow(name, events)

    async def _prepare(self, names: Iterable[str]) -> bool:
        try:
            await self._starter.prepare(self._pod)
        except StartProblem as problem:
            self._retries.failed(_WHOLE_POD, time.time())
            self._show_problem(names, problem)
            return False
        self._retries.succeeded(_WHOLE_POD)
        self._node_services.names_changed()
        return True

    def _refresh_volumes(self, now: float) -> float | None:
        """Begins a refresh when it is time; returns the seconds until the next. Nothing waits for one: the server may be away."""
        if not has_refreshable_volumes(self._pod.spec) or not self._starter.address or self._released:
            return None
        if now >= self._refresh_at:
            self._refresh_at = now + VOLUME_REFRESH_SECONDS
            if self._refreshing is None or self._refreshing.done():
                self._refreshing = asyncio.ensure_future(self._refresh())
        return self._refresh_at - now

    async def _refresh(self) -> None:
        try:
            await self._starter.refresh_volumes(self._pod)
        except (StartProblem, OSError) as problem:
            log.warning("Pod %s: its volumes could not be brought up to date: %s", self._pod.title, problem)

    async def _finish(self) -> None:
        """All containers have ended for good."""
        if not self._released:
            self._released = True
            if self._refreshing is not None:
                self._refreshing.cancel()
            self._node_services.names_changed()
        if not self._is_cleared:  # what could not be removed is tried again
            await self._starter.release()
            self._is_cleared = True
            self._report(time.time())
        if self._pod.metadata.deletion_timestamp is None or self._vanished:
            return
        await self._node_services.statuses.flush(self._pod.uid)
        metadata = self._pod.metadata
        try:
            await self._node_services.dependencies.client.delete(
                PODS, metadata.name, metadata.namespace, uid=metadata.uid, grace_period_seconds=0
            )
        except (NotFound, Conflict):
            return
        except ApiError as error:
            log.warning("Pod %s could not be deleted, trying again: %s", self._pod.title, error.message)
            asyncio.get_running_loop().call_later(1.0, self._wake.set)

    # What is shown.

    def _report(self, now: float) -> float | None:
        """Writes the status if it changed; returns the seconds until it has to be looked at again."""
        phase, reason, message = _DEADLINE_EXCEEDED if self._overdue else ("", "", "")
        observation = PodObservation(
            host_ip=self._node_services.dependencies.host_ip,
            pod_ip=self._starter.address or self._pod.status.get("podIP", ""),
            has_sandbox=bool(self._starter.address) and not self._released,
            started_at=self._started_at(),
            ending=self._is_ending(),
            ended=self._released,
            phase=phase,
            reason=reason,
            message=message,
        )
        # Conditions keep the time they last changed: what was reported counts, whether or not the server has sent it back.
        reported = with_external_conditions(self._reported or self._pod.status, self._pod.status)
        base = {**self._pod.as_json(), "status": reported}
        status = pod_status(base, self._containers.states, observation, datetime.fromtimestamp(now, UTC))
        if status == self._reported:
            return None
        quiet = self._arrived + QUIET_START_SECONDS - now
        if quiet > 0 and not self._reported and status["phase"] == "Pending" and not self._retries.next_wait(now):
            return quiet
        was_ready = is_ready(self._reported)
        self._reported = status
        if is_ready(status) != was_ready:
            self._node_services.names_changed()
        self._node_services.statuses.write(self._pod, status)
        return None

    def _show_problem(self, names: Iterable[str], problem: StartProblem) -> None:
        for name in names:
            waiting = Waiting(problem.reason, problem.message)
            if problem.reason == "ErrImagePull" and self._containers.states[name].waiting is not None:
                image = self._containers.spec(name).get("image", "")
                waiting = Waiting("ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {problem.message}')
            self._containers.wait(name, waiting)
        self._note("Warning", problem.event, problem.event_message)

    def _show_back_off(self, waits: Iterable[tuple[str, float]]) -> None:
        for name, _ in waits:
            state = self._containers.states[name]
            if state.waiting is not None and state.waiting.reason == "CrashLoopBackOff":
                continue
            delay = _go_duration(lifecycle.back_off(state.streak, self._node_services.max_restart_period))
            message = f"back-off {delay} restarting failed container={name} pod={self._pod.title}"
            self._containers.wait(name, Waiting("CrashLoopBackOff", message))
            self._note("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {self._pod.title}")

    def _note(self, type: EventType, reason: str, message: str) -> None:
        self._node_services.recorder.record(
            Note(regarding=self._pod.ref, type=type, reason=reason, message=message, action="Running")
        )


def _relevant(pod: AssignedPod) -> tuple[object, ...]:
    """What a worker acts on; its own status coming back is not, but what others say of a pod with readiness gates is."""
    metadata = pod.metadata
    gates = pod.status.get("conditions") if pod.spec.get("readinessGates") else None
    return (pod.spec, metadata.deletion_timestamp, metadata.deletion_grace_period_seconds, pod.is_finished, gates)


def _go_duration(seconds: float) -> str:
    """Whole seconds as Go prints a duration: `10s`, `1m20s`, `5m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
