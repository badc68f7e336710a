"""What a change of a job's condition means, as a sentence. Pure."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.scheduling.podgroups import POD_GROUP_MISSING, WAITING_FOR_POD_GROUP
from shunter.operator.overview import is_finished, job_state

SILENT_WHEN_FALSE = ("Restarting", "Complete", "Succeeded", "Failed")
"""Conditions whose end is reported by another condition."""

REASONS_REPORTED_AS_CAUSES = (WAITING_FOR_POD_GROUP, POD_GROUP_MISSING)
"""Reasons of Created that are reported as the job's cause instead."""


def sentence(job: Json, condition: Json) -> str:
    """The sentence about a condition that has changed; empty when another condition or the job's cause reports the same. The
    message of a condition that is no longer true may be older than the change."""
    type, message = condition["type"], str(condition.get("message") or "").strip()
    if type == "Created" and (
        condition.get("status") == "False" or str(condition.get("reason", "")).endswith(REASONS_REPORTED_AS_CAUSES)
    ):
        return ""
    if condition.get("status") == "True":
        return f"{type}: {message}" if message else type
    if condition.get("status") != "False":
        return f"it is unknown whether the job is {type}: {message}" if message else f"it is unknown whether the job is {type}"
    if type == "Suspended":
        return f"Resumed: {message}" if "resumed" in message.lower() else "Resumed"
    if type in SILENT_WHEN_FALSE or is_finished(job):
        return ""
    if type == "Running":
        return "" if job_state(job) in ("Suspended", "Restarting") else "No longer running"
    return f"No longer {type}"
