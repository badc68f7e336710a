"""Defaults and validation of JAXJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.jax import KIND, JAXJob, JAXJobSpec
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.validation import container_errors, job_errors, role_errors, too_many_errors

_REPLICAS = f"spec.{KIND.replica_specs}"


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
    return job_errors(
        job.metadata.name,
        job.spec.run_policy,
        old.spec.run_policy if old else None,
        job.spec.jax_replica_specs,
        field=_REPLICAS,
        replica_errors=_replica_errors,
    )


def _replica_errors(role: str, replica: ReplicaSpec) -> list[FieldError]:
    field = f"{_REPLICAS}[{role}]"
    return [
        *role_errors(role, field=field, roles=KIND.roles),
        *container_errors(replica, field=field, container=KIND.container),
        *too_many_errors(replica, field=field),
    ]
