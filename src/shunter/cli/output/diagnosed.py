"""The cause of a failed job for `describe` and `run`, as `shunter doctor` finds it from API objects only."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json
from shunter.jobs.failures import NamedCause
from shunter.operator.causes import Evidence
from shunter.operator.overview import job_state


def diagnosed(job: Json, evidence: Evidence, now: datetime) -> NamedCause | None:
    """`now` is the time by the server's clock. None if the job has not failed, or the doctor has no certain or likely verdict."""
    if job_state(job) != "Failed":
        return None
    from shunter.doctor.diagnosing import diagnose_from_api  # 0.1 s, while the ranks of a job start that `run` has created

    verdicts = diagnose_from_api(job, evidence, now).verdicts
    best = next((one for one in verdicts if one.confidence != "possible"), None)
    return None if best is None else NamedCause(best.cause, best.remedy, best.pods)
