"""What a pod needs next: which containers to start, which to stop, when to look again. Pure.

Source: kubelet 1.36 `computePodActions` and its back-off: the first restart is immediate, the n-th waits 10 s * 2^(n-2) after the
end of the run before, at most 5 minutes, and starts over once a container ran for 10 minutes. `max_period` stands for its setting
`crashLoopBackOff.maxContainerRestartPeriod`: no wait is longer, the first one included.
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.pod.containers import Containers, ContainerState, Role, declared, ephemeral

FIRST_BACK_OFF = 10.0
MAX_BACK_OFF = 300.0
RESET_AFTER = 600.0


class Decision(NamedTuple):
    """Names of containers to start and to stop now; those in back-off with their wait in seconds; whether the pod's work is over
    (its containers will never run again)."""

    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    back_off: tuple[tuple[str, float], ...] = ()
    finished: bool = False

    @property
    def wake_in(self) -> float | None:
        """Seconds until the first back-off ends; None when only an event can change anything."""
        return min((seconds for _, seconds in self.back_off), default=None)


def decide(spec: Json, containers: Containers, now: float, *, max_period: float = MAX_BACK_OFF) -> Decision:
    """The next steps of a pod that should run."""
    mains = [(container, containers[container["name"]]) for container, role in declared(spec) if role is Role.MAIN]
    if all(_is_final(spec, container, state) for container, state in mains):
        return decide_stop(spec, containers)  # sidecars have no container left to serve
    initialized = any(state.attempt is not None for _, state in mains)
    start = [container["name"] for container in ephemeral(spec) if _can_begin(container, containers)]
    waits: list[tuple[str, float]] = []
    for container, role in declared(spec):
        name = container["name"]
        state = containers[name]
        if role is Role.INIT and initialized:
            continue
        if role is Role.INIT and state.is_over and state.has_succeeded:
            continue
        if role is Role.INIT and _is_final(spec, container, state):
            return decide_stop(spec, containers)
        if not state.is_active and not _is_final(spec, container, state):
            wait = restart_wait(state, now, max_period)
            if wait > 0:
                waits.append((name, wait))
            else:
                start.append(name)
        if not initialized and (role is Role.INIT or (role is Role.SIDECAR and not (state.is_running and state.started))):
            break
    return Decision(tuple(start), (), tuple(waits))


def decide_stop(spec: Json, containers: Containers) -> Decision:
    """The next steps of a pod that must stop: everything but sidecars at once, then sidecars from the last to the first."""
    active = [name for name, state in containers.items() if state.is_active]
    if not active:
        return Decision(finished=True)
    workers = [name for name in active if containers[name].role is not Role.SIDECAR]
    if workers:
        return Decision(stop=tuple(workers))
    order = [container["name"] for container, _ in declared(spec)]
    return Decision(stop=(max(active, key=order.index),))


def _can_begin(container: Json, containers: Containers) -> bool:
    """Whether an ephemeral container may run now: once, and beside the container that it is to look into."""
    target = container.get("targetContainerName", "")
    return containers[container["name"]].attempt is None and (not target or containers[target].is_running)


def restart_wait(state: ContainerState, now: float, max_period: float) -> float:
    """Seconds that a container which is not running has to wait before its next start; 0 or less means none."""
    if state.attempt is None or state.attempt.seconds >= RESET_AFTER:
        return 0.0
    return state.attempt.finished_at + back_off(state.streak, max_period) - now


def back_off(streak: int, max_period: float) -> float:
    """Seconds between the end of a run and the next one, after `streak` restarts; `max_period` at most."""
    return min(FIRST_BACK_OFF * 2.0 ** min(streak - 1, 10), max_period) if streak else 0.0


def next_streak(state: ContainerState) -> int:
    """The streak of the run that follows this one."""
    if state.attempt is None or state.attempt.seconds >= RESET_AFTER:
        return 1 if state.attempt is not None else 0
    return state.streak + 1


def will_restart(spec: Json, container: Json, role: Role, exit_code: int) -> bool:
    """Whether a container that ended like this is started again. Its own rules and policy go before the pod's."""
    if role is Role.SIDECAR:
        return True
    if role is Role.INIT and exit_code == 0:
        return False
    if any(_is_met(rule, exit_code) for rule in container.get("restartPolicyRules") or ()):
        return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _is_met(rule: Json, exit_code: int) -> bool:
    """Every rule there is asks for a restart."""
    codes = rule["exitCodes"]
    is_named = exit_code in (codes.get("values") or ())
    return is_named if codes["operator"] == "In" else not is_named


def _is_final(spec: Json, container: Json, state: ContainerState) -> bool:
    """Whether a container has ended for good."""
    if state.attempt is None or state.attempt.exit_code is None:
        return False
    return not will_restart(spec, container, state.role, state.attempt.exit_code)
