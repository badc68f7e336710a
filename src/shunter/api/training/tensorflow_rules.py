"""Defaults and validation of TFJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError, forbidden
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.tensorflow import CHIEF, KIND, MASTER, TFJob, TFJobSpec
from shunter.api.training.validation import container_errors, job_errors, missing_roles_errors, too_many_errors

_REPLICAS = f"spec.{KIND.replica_specs}"


def with_defaults(spec: TFJobSpec) -> TFJobSpec:
    """The spec as the operator reads it."""
    return replace(
        spec,
        run_policy=run_policy_with_defaults(spec.run_policy),
        success_policy=spec.success_policy or "",
        tf_replica_specs=replica_specs_with_defaults(spec.tf_replica_specs, KIND),
    )


def errors(job: TFJob, old: TFJob | None) -> list[FieldError]:
    """What admission refuses; `old` is None on creation. Defaults must not have been applied."""
    specs = job.spec.tf_replica_specs
    return [
        *job_errors(job, old),
        *missing_roles_errors(specs, KIND),
        *(error for role, replica in specs.items() for error in _replica_errors(role, replica)),
        *_chief_errors(specs),
    ]


def warnings(job: TFJob) -> list[str]:
    """Roles that TensorFlow does not know are accepted, and said to be none of its own."""
    known = {role.lower() for role in KIND.roles}
    return [
        f"{_REPLICAS}[{role}]: no role of TensorFlow ({', '.join(KIND.roles)}): its pods are created, but do not count"
        for role in job.spec.tf_replica_specs
        if role.lower() not in known
    ]


def _replica_errors(role: str, replica: ReplicaSpec) -> list[FieldError]:
    field = f"{_REPLICAS}[{role}]"
    return [*container_errors(replica, field=field, container=KIND.container), *too_many_errors(replica, field=field)]


def _chief_errors(specs: dict[str, ReplicaSpec]) -> list[FieldError]:
    """Roles are counted, not their pods, and as they are spelled."""
    if CHIEF in specs and MASTER in specs:
        return [forbidden(_REPLICAS, "must not have more than 1 Chief or Master role")]
    return []
