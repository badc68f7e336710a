"""Events on the job about pods with problems: image pulls, crashing containers, pods without a node, and disrupted pods."""

from __future__ import annotations

from shunter.api.core import Pod
from shunter.api.meta import Condition, true_condition
from shunter.kube.controllers.plan import Note, Ref

REPORTED_PODS = 20
"""How many pods are reported at most: a thousand pods that cannot be scheduled have one reason, not a thousand."""


def abnormal_pod_events(job: Ref, pods: tuple[Pod, ...]) -> tuple[Note, ...]:
    """A warning for each container with a message, else for the pod's newest condition if it is not True; and for each disrupted
    pod."""
    by_pod = (_warnings(job, pod) if pod.is_active else _disruption_event(job, pod) for pod in pods)
    notes = (note for of_pod in by_pod for note in of_pod)
    return tuple(note for note, _ in zip(notes, range(REPORTED_PODS), strict=False))


def _warnings(job: Ref, pod: Pod) -> list[Note]:
    name = pod.metadata.name
    notes = []
    for status in pod.status.container_statuses:
        terminated, waiting = status.state.terminated, status.state.waiting
        if terminated is not None and terminated.exit_code != 0 and terminated.message:
            text = f"exitCode: {terminated.exit_code} terminated message: {terminated.message}"
            notes.append(_warning(job, terminated.reason, f"Error pod {name} container {status.name} {text}"))
        elif waiting is not None and waiting.message:
            notes.append(
                _warning(job, waiting.reason, f"Error pod {name} container {status.name} waiting message: {waiting.message}")
            )
    if notes or not pod.status.conditions:
        return notes
    newest = max(pod.status.conditions, key=_changed_at)
    if newest.is_true or not newest.message:
        return []
    return [_warning(job, newest.reason, f"Error pod {name} condition message: {newest.message}")]


def _disruption_event(job: Ref, pod: Pod) -> list[Note]:
    """Why a pod is evicted, preempted, or on a lost node, by its condition DisruptionTarget."""
    disruption = true_condition(pod.status.conditions, "DisruptionTarget")
    if disruption is None:
        return []
    return [_warning(job, disruption.reason, f"Pod {pod.metadata.name} is deleted: {disruption.message}")]


def _changed_at(condition: Condition) -> float:
    return condition.last_transition_time.timestamp() if condition.last_transition_time else 0.0


def _warning(job: Ref, reason: str, message: str) -> Note:
    return Note(regarding=job, type="Warning", reason=reason or "Unknown", message=message)
