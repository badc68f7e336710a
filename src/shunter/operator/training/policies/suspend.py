"""What the status and the events say of a job that is suspended or resumed; `plan.py` deletes its pods and Services, whatever its
cleanPodPolicy.

The condition Suspended is written before the pods go and taken back when the last of them has gone. While it is True no pod says
anything about the job: how pods end that the operator has deleted is no evidence.
"""

from __future__ import annotations

import msgspec

from shunter.operator.training.children import Children
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.observed import Observed
from shunter.operator.training.progress import Progress
from shunter.operator.training.status import judged


def ended_before(framework: AnyFramework, observed: Observed, progress: Progress) -> Progress | None:
    """The progress of a job that had ended by itself before it was suspended; None if it had not. Pods that are being deleted are
    no evidence."""
    pods = tuple(pod for pod in observed.children.pods if not pod.is_leaving)
    if not any(pod.is_finished for pod in pods):
        return None
    children = Children(pods, observed.children.services)
    _, progress = framework.sync_replicas(msgspec.structs.replace(observed, children=children), progress)
    progress = judged(framework, observed.job, children, progress)
    return progress if progress.status.is_finished else None


def suspended(progress: Progress, name: str) -> Progress:
    """With Running False and Suspended True, and an event. Pods count until they are deleted, as quotas read the counts."""
    message = f"{progress.kind} {name} is suspended."
    if progress.status.is_true("Running"):
        progress = progress.condition("Running", message, cause="Suspended", status="False")
    return progress.event("Normal", "Suspended", message).condition("Suspended", message)


def stopped(progress: Progress) -> Progress:
    """Nothing of a suspended job is active."""
    counts = progress.status.replica_statuses.items()
    return progress.counts({replica_type: msgspec.structs.replace(count, active=0) for replica_type, count in counts})


def resumed(progress: Progress, name: str) -> Progress:
    """Returns the progress with condition Suspended=False, a new start time, and an event."""
    message = f"{progress.kind} {name} is resumed."
    return progress.condition("Suspended", message, cause="Resumed", status="False").started().event("Normal", "Resumed", message)
