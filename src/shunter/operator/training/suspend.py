"""Suspending and resuming a job (R10). A suspended job has no pods and no services, whatever its cleanPodPolicy."""

from __future__ import annotations

import msgspec

from shunter.operator.training.children import Children
from shunter.operator.training.conditions import is_true
from shunter.operator.training.progress import Progress


def suspended(progress: Progress, name: str) -> Progress:
    """Nothing is active, Running ends, and Suspended is the job's state; told once."""
    message = f"{progress.kind} {name} is suspended."
    if is_true(progress.conditions, "Running"):
        progress = progress.condition("Running", message, cause="Suspended", status="False")
    if not is_true(progress.conditions, "Suspended"):
        progress = progress.event("Normal", "Suspended", message)
    counts = progress.status.replica_statuses.items()
    return progress.condition("Suspended", message).counts(
        {replica_type: msgspec.structs.replace(count, active=0) for replica_type, count in counts}
    )


def is_stopping(progress: Progress, children: Children) -> bool:
    """Whether pods that suspending has deleted are still there: how they end says nothing about a job that has been resumed."""
    return is_true(progress.conditions, "Suspended") and any(pod.metadata.deletion_timestamp is not None for pod in children.pods)


def resumed(progress: Progress, name: str) -> Progress:
    """Suspended turns False and the clock of the job starts anew; unchanged when the job was not suspended."""
    if not is_true(progress.conditions, "Suspended"):
        return progress
    message = f"{progress.kind} {name} is resumed."
    return progress.condition("Suspended", message, cause="Resumed", status="False").started().event("Normal", "Resumed", message)
