"""The cause of a job that failed, as `shunter doctor` names it from the cluster's objects alone: for `describe` and `run`."""

from __future__ import annotations

from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.jobs.failures import NamedCause
from shunter.operator.causes import Evidence
from shunter.operator.overview import job_state


def diagnosed(job: Json, evidence: Evidence) -> NamedCause | None:
    """None where the job has not failed, or its objects do not say more than how a process ended."""
    if job_state(job) != "Failed":
        return None
    from shunter.doctor.diagnosing import diagnose_from_api  # 0.1 s, while the ranks of a job start that `run` has created

    verdicts = diagnose_from_api(job, evidence, datetime.now(UTC)).verdicts
    best = next((one for one in verdicts if one.confidence != "possible"), None)
    return None if best is None else NamedCause(best.cause, best.remedy, best.pods)
