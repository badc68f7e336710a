"""The containers of one pod while they run: their attempts followed, their probes running, those that must end being stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from shunter.api.core import COLD_START
from shunter.api.meta import Json
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.pod import container_attempts, lifecycle
from shunter.cluster.node.pod.containers import Attempt, Containers, ContainerState, Waiting, every
from shunter.cluster.node.pod.probing import Health, Prober, Reports
from shunter.cluster.node.pod.stopping import Stopper
from shunter.cluster.node.runtime.launcher import Launcher

EventType = Literal["Normal", "Warning"]


class PodCallbacks(NamedTuple):
    """What the set needs of its pod: where to reach its ports, whom to wake, how to record an event (type, reason, message), how
    long containers get to stop, and what to do when an attempt is over (container, number)."""

    probe_address: Callable[[], str]
    wake: Callable[[], None]
    note: Callable[[EventType, str, str], None]
    grace: Callable[[], float]
    ended: Callable[[str, int], None]


class ContainerSet:
    """Knows every container of a pod spec by name."""

    def __init__(self, spec: Json, directory: PodDirectory, launcher: Launcher, callbacks: PodCallbacks) -> None:
        self._specs: dict[str, Json] = {}
        self._states: dict[str, ContainerState] = {}
        self.add_new(spec)
        self._directory = directory
        self._launcher = launcher
        self._callbacks = callbacks
        self._watches: dict[str, container_attempts.AttemptWatch] = {}
        self._probers: dict[str, Prober] = {}
        self._stoppers: dict[str, Stopper] = {}

    @property
    def states(self) -> Containers:
        """What is known of each container, by its name; changes as the containers do."""
        return self._states

    @property
    def any_active(self) -> bool:
        """Whether any container runs or is about to."""
        return any(state.is_active for state in self._states.values())

    def add_new(self, spec: Json) -> None:
        """Adds the containers that were added to the pod."""
        for container, role in every(spec):
            if container["name"] not in self._states:
                self._specs[container["name"]] = container
                self._states[container["name"]] = ContainerState(role)

    def spec(self, name: str) -> Json:
        """The container as the pod's spec has it. Raises KeyError for a name that is not in it."""
        return self._specs[name]

    def close(self) -> None:
        """Stops following; what runs goes on."""
        for followed in (self._watches, self._probers, self._stoppers):
            for one in followed.values():
                one.close()
            followed.clear()

    def adopt(self) -> None:
        """Takes over what an earlier agent left running, and learns what has ended since."""
        for name, state in self._states.items():
            known: list[Attempt] = []
            for number in self._directory.attempts(name):
                directory = self._directory.attempt(name, number)
                events = container_attempts.adopt(directory)
                found = container_attempts.observed(directory, number, self._specs[name], alive=events is not None)
                if events is not None:
                    self._watches[name] = container_attempts.AttemptWatch(events, self._callbacks.wake)
                if found is None:
                    container_attempts.discard(directory)
                else:
                    known.append(found)
            if known:
                previous = known[-2] if len(known) > 1 else None
                self._states[name] = state._replace(attempt=known[-1], previous=previous, streak=known[-1].number)
                if known[-1].is_running:
                    self._watch_health(name, known[-1].number)

    def observe(self) -> None:
        """Brings what is known about running attempts up to date."""
        for name, watch in list(self._watches.items()):
            state = self._states[name]
            assert state.attempt is not None
            number = state.attempt.number
            directory = self._directory.attempt(name, number)
            found = container_attempts.observed(
                directory, number, self._specs[name], alive=watch.is_alive, reported=watch.reported
            )
            if found is None:
                # The launcher was killed before it forked: the attempt can never run, so its number is free again.
                self._unfollow(name)
                container_attempts.discard(directory)
                self._states[name] = state._replace(attempt=state.previous, previous=None)
            elif found != state.attempt:
                self._states[name] = state._replace(attempt=found)
                if found.started_at and not state.attempt.started_at:
                    if found.cold:
                        self._callbacks.note("Normal", COLD_START, f"Container {name} was started cold: {found.cold}")
                    self._callbacks.note("Normal", "Started", f"Container started{' warm' * found.warm}")
                    if found.is_running:
                        self._watch_health(name, number)
                if found.is_over:
                    self._end(name, found)

    def next_number(self, name: str) -> int:
        """The number of the container's next attempt; 0 for the first."""
        attempt = self._states[name].attempt
        return attempt.number + 1 if attempt is not None else 0

    def follow(self, name: str, events: int) -> None:
        """The next attempt of a container was handed to the launcher; `events` is its FIFO."""
        state, number = self._states[name], self.next_number(name)
        if state.attempt is not None:
            container_attempts.discard_root(self._directory.attempt(name, state.attempt.number))
        if state.previous is not None:
            container_attempts.discard(self._directory.attempt(name, state.previous.number))
        self._states[name] = ContainerState(
            state.role,
            attempt=Attempt(number, container_attempts.attempt_id(self._directory.attempt(name, number))),
            previous=state.attempt,
            streak=lifecycle.next_streak(state),
        )
        self._watches[name] = container_attempts.AttemptWatch(events, self._callbacks.wake)

    def wait(self, name: str, waiting: Waiting | None) -> None:
        """Sets the reason why a container waits, for its status."""
        self._states[name] = self._states[name]._replace(waiting=waiting)

    def stop(self, name: str, grace_seconds: float, message: str) -> None:
        """Begins to stop a container, or brings its end forward. One that is being launched tells us when it has started."""
        state = self._states[name]
        if state.attempt is None or not state.attempt.is_running:
            return
        if name not in self._stoppers:
            directory = self._directory.attempt(name, state.attempt.number)
            self._stoppers[name] = Stopper(self._launcher, directory, self._specs[name], self._callbacks.probe_address())
            self._callbacks.note("Normal", "Killing", message)
        self._stoppers[name].stop(
            grace_seconds, lambda complaint: self._callbacks.note("Warning", "FailedPreStopHook", complaint)
        )

    def _end(self, name: str, attempt: Attempt) -> None:
        self._unfollow(name)
        self._callbacks.ended(name, attempt.number)
        if attempt.reason == "StartError":
            self._callbacks.note("Warning", "Failed", f"Error: {attempt.message}")

    def _unfollow(self, name: str) -> None:
        for followed in (self._watches, self._probers, self._stoppers):
            if one := followed.pop(name, None):
                one.close()

    def _watch_health(self, name: str, number: int) -> None:
        """Starts the probes of a container that runs, after its postStart hook."""
        container, note = self._specs[name], self._callbacks.note

        def restart(kind: str) -> None:
            seconds = container[f"{kind}Probe"].get("terminationGracePeriodSeconds")
            grace = self._callbacks.grace() if seconds is None else float(seconds)
            self.stop(name, grace, f"Container {name} failed {kind} probe, will be restarted")

        def post_start_failed(complaint: str) -> None:
            note("Warning", "FailedPostStartHook", complaint)
            self.stop(name, self._callbacks.grace(), "FailedPostStartHook")

        reports = Reports(
            changed=lambda health: self._set_health(name, health),
            failed=lambda kind, output: note("Warning", "Unhealthy", f"{kind.capitalize()} probe failed: {output}"),
            unhealthy=restart,
            post_start_failed=post_start_failed,
        )
        directory = self._directory.attempt(name, number)
        prober = Prober(self._launcher, directory, container, self._callbacks.probe_address(), reports)
        self._probers[name] = prober
        self._set_health(name, prober.health)

    def _set_health(self, name: str, health: Health) -> None:
        self._states[name] = self._states[name]._replace(started=health.started, ready=health.ready)
        self._callbacks.wake()
