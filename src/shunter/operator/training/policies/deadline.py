"""activeDeadlineSeconds: an unfinished job fails when its deadline is over.

Unlike upstream, which notices only when something else happens, a timer brings the job back at its deadline.
"""

from __future__ import annotations

from datetime import datetime

from shunter.operator.training.job import AnyJob

EXCEEDED = "Job {name} has failed because it was active longer than specified deadline"
"""The message of the condition Failed: its reason is that of all failures of the kind."""


def remaining(job: AnyJob, now: datetime) -> float | None:
    """Seconds until the deadline, 0 or less when it is over; None without a deadline or before the start."""
    seconds, start = job.run_policy.active_deadline_seconds, job.status.start_time
    if seconds is None or start is None:
        return None
    return seconds - (now - start).total_seconds()
