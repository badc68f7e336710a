"""Defaults and validation of JAXJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.jax import KIND, JAXJob, JAXJobSpec
from shunter.api.training.validation import job_errors, missing_roles_errors, replica_errors


def with_defaults(spec: JAXJobSpec) -> JAXJobSpec:
    """The spec as the operator reads it."""
    return replace(
        spec,
        run_policy=run_policy_with_defaults(spec.run_policy),
        jax_replica_specs=replica_specs_with_defaults(spec.jax_replica_specs, KIND),
    )


def errors(job: JAXJob, old: JAXJob | None) -> list[FieldError]:
    """What admission refuses; `old` is None on creation. Defaults must not have been applied.

    Upstream does not check the run policy of a JAXJob; this does."""
    specs = job.spec.jax_replica_specs
    return [
        *job_errors(job, old),
        *missing_roles_errors(specs, KIND),
        *(error for role, replica in specs.items() for error in replica_errors(role, replica, KIND)),
    ]
