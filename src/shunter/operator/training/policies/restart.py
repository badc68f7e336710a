"""What happens to a pod that has failed for good: by its role's restart policy it is replaced, or it fails the job.

In-place restarts are the kubelet's; a pod in phase Failed will not run again by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from shunter.api.core import Pod
from shunter.kube.cache.store import revision
from shunter.kube.controllers.plan import Note
from shunter.operator.training.job import AnyJob
from shunter.operator.training.pod_warnings import REPORTED_PODS

RETRYABLE_FROM = 128
"""Exit codes from here on (signals, mostly) are worth another try under the policy ExitCode; lower ones are the program's own."""

REPLACING = ("OnFailure", "Always", "ExitCode")
"""The restart policies under which failed pods are replaced."""

Consequence = Literal["replace", "fail", "none"]


def exited(job: AnyJob, pod: Pod, code: int) -> Note:
    """The event that tells how a container ended."""
    text = f"Pod: {pod.metadata.namespace}.{pod.metadata.name} exited with code {code}"
    return job.note("Normal", "ExitedWithCode", text)


def consequence(pod: Pod, restart_policy: str, container: str) -> Consequence:
    """What a pod's failure leads to; `none` while it has not failed, or if its role never restarts.

    A failed pod that is being deleted is replaced whatever its exit code is. The API server shows it so for a moment even if it
    deletes the pod at once, and it still counts as failed.
    """
    if pod.status.phase != "Failed" or restart_policy not in REPLACING:
        return "none"
    if restart_policy != "ExitCode" or pod.is_leaving:
        return "replace"
    code = exit_code(pod, container)
    return "replace" if code is None or code >= RETRYABLE_FROM else "fail"


def exit_code(pod: Pod, container: str) -> int | None:
    """The exit code of the training container; None while it has none (an evicted pod never has one)."""
    status = pod.container_status(container)
    terminated = status.state.terminated if status else None
    return terminated.exit_code if terminated else None


def newly_finished(container: str, pods: list[Pod], counted: int, ended: Mapping[str, int]) -> list[Pod]:
    """The pods whose end was not reported yet: the last to end, beyond the number that the status has `counted`, and those whose
    training container has ended while others still run. `ended` has the resourceVersions of their ends by UID.

    Upstream reports every exit at every reconcile, which floods the events of large jobs.
    """
    running_on = [pod for pod in pods if not pod.is_finished and exit_code(pod, container) is not None]
    finished = [pod for pod in pods if pod.is_finished]
    finished.sort(key=lambda pod: ended.get(pod.metadata.uid) or revision(pod.metadata.resource_version))
    return [*running_on[:REPORTED_PODS], *finished[counted:]]
