"""podFailurePolicy: what a failed pod's exit code or condition means for its Job. The first matching rule decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shunter.api.batch import Job, OnExitCodes, OnPodCondition
from shunter.api.core import ContainerStatus, Pod
from shunter.api.meta import Condition


class Match(NamedTuple):
    """What the policy says about one failed pod: the action of the first rule that matches ("" when none does), whether the
    failure counts towards the limits, and for FailJob the message the Job fails with."""

    action: str = ""
    counts: bool = True
    message: str = ""


def match(job: Job, pod: Pod) -> Match:
    """The policy's word on a failed pod; with no policy every failure counts."""
    rules = job.spec.pod_failure_policy.rules if job.spec.pod_failure_policy else ()
    for position, rule in enumerate(rules):
        what = ""
        if rule.on_exit_codes is not None:
            container = _matching_container(pod, rule.on_exit_codes)
            if container is not None and container.state.terminated is not None:
                what = (
                    f"Container {container.name} for pod {pod.metadata.namespace}/{pod.metadata.name} failed with exit code "
                    f"{container.state.terminated.exit_code}"
                )
        elif (condition := _matching_condition(pod, rule.on_pod_conditions)) is not None:
            what = f"Pod {pod.metadata.namespace}/{pod.metadata.name} has condition {condition.type}"
        if what:
            message = f"{what} matching {rule.action} rule at index {position}" if rule.action == "FailJob" else ""
            return Match(rule.action, rule.action != "Ignore", message)
    return Match()


def _matching_container(pod: Pod, codes: OnExitCodes) -> ContainerStatus | None:
    statuses: Iterable[ContainerStatus] = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((status for status in statuses if _matches(status, codes)), None)


def _matches(status: ContainerStatus, codes: OnExitCodes) -> bool:
    ended = status.state.terminated
    if ended is None or ended.exit_code == 0 or codes.container_name not in (None, status.name):
        return False
    return (ended.exit_code in codes.values) == (codes.operator == "In")


def _matching_condition(pod: Pod, patterns: tuple[OnPodCondition, ...]) -> Condition | None:
    matching = {(pattern.type, pattern.status) for pattern in patterns}
    return next((condition for condition in pod.status.conditions if (condition.type, condition.status) in matching), None)
