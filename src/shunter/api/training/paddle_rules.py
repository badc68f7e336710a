"""Defaults and validation of PaddleJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.paddle import KIND, PaddleJob, PaddleJobSpec
from shunter.api.training.validation import job_errors, missing_roles_errors, replica_errors


def with_defaults(spec: PaddleJobSpec) -> PaddleJobSpec:
    """The spec as the operator reads it. The bounds of elasticPolicy stay as given: nothing reads them."""
    return replace(
        spec,
        run_policy=run_policy_with_defaults(spec.run_policy),
        paddle_replica_specs=replica_specs_with_defaults(spec.paddle_replica_specs, KIND),
    )


def errors(job: PaddleJob, old: PaddleJob | None) -> list[FieldError]:
    """What admission refuses; `old` is None on creation. Defaults must not have been applied."""
    specs, container = job.spec.paddle_replica_specs, f'"{KIND.container}"'
    return [
        *job_errors(job, old),
        *missing_roles_errors(specs, KIND),
        *(error for role, replica in specs.items() for error in replica_errors(role, replica, KIND, container=container)),
    ]
