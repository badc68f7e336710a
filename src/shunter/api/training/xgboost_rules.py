"""Defaults and validation of XGBoostJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError, required
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.validation import exactly_one_errors, job_errors, missing_roles_errors, replica_errors
from shunter.api.training.xgboost import KIND, MASTER, NO_SPEC, XGBoostJob, XGBoostJobSpec

_REPLICAS = f"spec.{KIND.replica_specs}"


def with_defaults(spec: XGBoostJobSpec) -> XGBoostJobSpec:
    """The spec as the operator reads it."""
    return replace(
        spec,
        run_policy=run_policy_with_defaults(spec.run_policy),
        xgb_replica_specs=replica_specs_with_defaults(spec.xgb_replica_specs, KIND),
    )


def errors(job: XGBoostJob, old: XGBoostJob | None) -> list[FieldError]:
    """What admission refuses; `old` is None on creation. Defaults must not have been applied."""
    specs = job.spec.xgb_replica_specs
    return [
        *job_errors(job, old),
        *(missing_roles_errors(specs, KIND) if job.spec is NO_SPEC else ()),
        *(error for role, replica in specs.items() for error in _replica_errors(role, replica)),
        *([] if MASTER in specs else [required(f"{_REPLICAS}[{MASTER}]", "must be present")]),
    ]


def _replica_errors(role: str, replica: ReplicaSpec) -> list[FieldError]:
    field = f"{_REPLICAS}[{role}]"
    return [
        *replica_errors(role, replica, KIND),
        *(exactly_one_errors(replica, field=field) if role == MASTER else ()),
    ]
