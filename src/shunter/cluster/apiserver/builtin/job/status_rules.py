"""What a write of a Job's status may say: what manages a Job must keep to its life cycle.

A rule about a field is checked only when the write changes what it is about, so that other writes to a broken status go through.
Source: k8s.io/kubernetes 1.36 `registry/batch/job` status strategy, `apis/batch/validation`.
"""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.field_errors import FieldError, duplicate, invalid, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.job.indexes import IndexesError, parse_indexes
from shunter.cluster.apiserver.field_rules import invalid_as_a_whole, negative

_CONDITIONS = "status.conditions"
_COUNTERS = ("active", "succeeded", "failed", "ready", "terminating")


class _Outcome(NamedTuple):
    """Which conditions of a status are true."""

    complete: bool
    failed: bool
    failure_target: bool
    success_criteria: bool

    @property
    def finished(self) -> bool:
        return self.complete or self.failed


def job_status_errors(job: Json, old: Json | None) -> list[FieldError]:
    """The faults of a new status, given the stored one."""
    assert old is not None
    status, was = job["status"], old["status"]
    now, before = _outcome(status), _outcome(was)
    errors = _number_errors(status)
    errors += _condition_errors(now, before)
    errors += _time_errors(status, was, now, before)
    errors += _pod_errors(status, was, now, before, job["spec"])
    errors += _index_errors(status, was, job["spec"])
    errors += _success_errors(now, job["spec"])
    return errors + _transition_errors(job, old, now, before)


def _outcome(status: Json) -> _Outcome:
    true = {item.get("type") for item in status.get("conditions", ()) if item.get("status") == "True"}
    return _Outcome("Complete" in true, "Failed" in true, "FailureTarget" in true, "SuccessCriteriaMet" in true)


def _number_errors(status: Json) -> list[FieldError]:
    errors = [error for name in _COUNTERS for error in negative(f"status.{name}", status.get(name))]
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate(status.get("uncountedTerminatedPods", {}).get(kind, ())):
            field = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                errors.append(invalid(field, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(field, uid))
            seen.add(uid)
    return errors


def _condition_errors(now: _Outcome, before: _Outcome) -> list[FieldError]:
    errors = []
    if (now.complete != before.complete or now.failed != before.failed) and now.complete and now.failed:
        errors.append(invalid_as_a_whole(_CONDITIONS, "cannot set Complete=True and Failed=true conditions"))
    if (now.complete != before.complete or now.failure_target != before.failure_target) and now.complete and now.failure_target:
        errors.append(invalid_as_a_whole(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions"))
    return errors


def _time_errors(status: Json, was: Json, now: _Outcome, before: _Outcome) -> list[FieldError]:
    started, completed = status.get("startTime"), status.get("completionTime")
    completion_changed = completed != was.get("completionTime")
    errors: list[FieldError] = []
    if now.complete != before.complete or completion_changed:
        if completed is not None and not now.complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", completed, detail))
        if completed is None and now.complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    start_changed = started != was.get("startTime")
    if (start_changed or completion_changed) and started is not None and completed is not None and completed < started:
        errors.append(invalid("status.completionTime", completed, "must be equal to or after `startTime`"))
    return errors


def _pod_errors(status: Json, was: Json, now: _Outcome, before: _Outcome, spec: Json) -> list[FieldError]:
    finished_changed = now.finished != before.finished
    indexes_changed = status.get("failedIndexes") != was.get("failedIndexes")
    errors: list[FieldError] = []
    if (now.failed != before.failed or indexes_changed) and now.failed and not now.failure_target:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        errors.append(invalid_as_a_whole(_CONDITIONS, detail))
    success_changed = now.success_criteria != before.success_criteria
    if (now.complete != before.complete or success_changed) and now.complete and not now.success_criteria:
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(invalid_as_a_whole(_CONDITIONS, detail))
    if not now.finished:
        return errors
    active = status.get("active", 0)
    if (finished_changed or active != was.get("active", 0)) and active > 0:
        errors.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    suspended_empty = spec.get("suspend") is True and spec.get("completions") == 0
    if (
        (finished_changed or status.get("startTime") != was.get("startTime"))
        and not suspended_empty
        and "startTime" not in status
    ):
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods", {})
    if (finished_changed or uncounted != was.get("uncountedTerminatedPods", {})) and any(uncounted.values()):
        errors.append(invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job"))
    return errors


def _index_errors(status: Json, was: Json, spec: Json) -> list[FieldError]:
    completions = spec.get("completions")
    completed, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    completed_changed = completed != was.get("completedIndexes", "")
    failed_changed = failed != was.get("failedIndexes")
    errors: list[FieldError] = []
    if completed_changed and completions is not None:
        errors += _format_errors("completedIndexes", completed, completions)
    if failed_changed and completions is not None and "backoffLimitPerIndex" in spec and failed is not None:
        errors += _format_errors("failedIndexes", failed, completions)
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", completed, detail))
    if failed_changed and failed is not None and "backoffLimitPerIndex" not in spec:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, detail))
    if (completed_changed or failed_changed) and completions is not None and failed is not None:
        errors += _overlap_errors(completed, failed, completions)
    return errors


def _format_errors(name: str, indexes: str, completions: int) -> list[FieldError]:
    try:
        parse_indexes(indexes, completions)
    except IndexesError as error:
        return [invalid(f"status.{name}", indexes, f"error parsing {name}: {error}")]
    return []


def _overlap_errors(completed: str, failed: str, completions: int) -> list[FieldError]:
    try:
        done, lost = parse_indexes(completed, completions), parse_indexes(failed, completions)
    except IndexesError:
        return []
    common = [max(a, c) for a, b in done for c, d in lost if max(a, c) <= min(b, d)]
    if not common:
        return []
    return [invalid("status.failedIndexes", failed, f"failedIndexes and completedIndexes overlap at index: {common[0]}")]


def _success_errors(now: _Outcome, spec: Json) -> list[FieldError]:
    errors = []
    if now.success_criteria and now.failed:
        errors.append(invalid_as_a_whole(_CONDITIONS, "cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if now.success_criteria and now.failure_target:
        errors.append(invalid_as_a_whole(_CONDITIONS, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
    if "successPolicy" in spec and now.complete and not now.success_criteria:
        detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(invalid_as_a_whole(_CONDITIONS, detail))
    return errors


def _transition_errors(job: Json, old: Json, now: _Outcome, before: _Outcome) -> list[FieldError]:
    status, was, spec = job["status"], old["status"], job["spec"]
    errors = _readiness_errors(status, was, now, before)
    for name, is_true, was_true in (
        ("Failed", now.failed, before.failed),
        ("Complete", now.complete, before.complete),
        ("FailureTarget", now.failure_target, before.failure_target),
    ):
        if was_true and not is_true:
            errors.append(invalid_as_a_whole(_CONDITIONS, f"cannot disable the terminal {name}=True condition"))
    if status.get("failed", 0) < was.get("failed", 0):
        errors.append(invalid("status.failed", status.get("failed", 0), "cannot decrease the failed counter"))
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic and status.get("succeeded", 0) < was.get("succeeded", 0):
        errors.append(invalid("status.succeeded", status.get("succeeded", 0), "cannot decrease the succeeded counter"))
    completed = status.get("completionTime")
    if completed is not None and was.get("completionTime") not in (None, completed):
        errors.append(invalid("status.completionTime", completed, "field is immutable"))
    started = status.get("startTime")
    if was.get("startTime") not in (None, started) and not spec.get("suspend") and not _resumes(status, was):
        errors.append(invalid("status.startTime", started, "field is immutable for unsuspended job once set"))
    if before.success_criteria and not now.success_criteria:
        errors.append(invalid_as_a_whole(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition"))
    if before.complete and not before.success_criteria and now.success_criteria:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(invalid_as_a_whole(_CONDITIONS, detail))
    return errors


def _readiness_errors(status: Json, was: Json, now: _Outcome, before: _Outcome) -> list[FieldError]:
    errors = []
    terminating, ready, active = status.get("terminating", 0), status.get("ready", 0), status.get("active", 0)
    changed = now.finished != before.finished or status.get("terminating") != was.get("terminating")
    if changed and terminating > 0 and now.finished:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    changed = status.get("ready") != was.get("ready") or active != was.get("active", 0)
    if changed and "ready" in status and ready > active:
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _resumes(status: Json, was: Json) -> bool:
    def suspended(of: Json, value: str) -> bool:
        return any(item.get("type") == "Suspended" and item.get("status") == value for item in of.get("conditions", ()))

    return suspended(was, "True") and suspended(status, "False")
