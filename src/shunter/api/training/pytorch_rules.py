"""Defaults and validation of PyTorchJob."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.field_errors import FieldError, forbidden, required
from shunter.api.training.defaults import replica_specs_with_defaults, run_policy_with_defaults
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.pytorch import KIND, MASTER, WORKER, ElasticPolicy, PyTorchJob, PyTorchJobSpec
from shunter.api.training.validation import exactly_one_errors, job_errors, missing_roles_errors, replica_errors

_REPLICAS = "spec.pytorchReplicaSpecs"
_ELASTIC_NPROC = "spec.elasticPolicy.nProcPerNode"


def with_defaults(spec: PyTorchJobSpec) -> PyTorchJobSpec:
    """The spec as the operator reads it: Master before Worker, numbers and policies filled in."""
    specs = replica_specs_with_defaults(spec.pytorch_replica_specs, KIND)
    nproc = spec.nproc_per_node
    if nproc is None and not (spec.elastic_policy and spec.elastic_policy.n_proc_per_node is not None):
        nproc = "auto"
    return replace(
        spec,
        run_policy=run_policy_with_defaults(spec.run_policy),
        pytorch_replica_specs=specs,
        elastic_policy=_elastic_with_bounds(spec.elastic_policy, specs.get(WORKER)),
        nproc_per_node=nproc,
    )


def _elastic_with_bounds(policy: ElasticPolicy | None, workers: ReplicaSpec | None) -> ElasticPolicy | None:
    """A missing bound copies the other; without both, they are the number of workers (none without workers)."""
    if policy is None:
        return None
    count = workers.replicas if workers else None
    low = policy.min_replicas if policy.min_replicas is not None else policy.max_replicas
    high = policy.max_replicas if policy.max_replicas is not None else policy.min_replicas
    return replace(policy, min_replicas=count if low is None else low, max_replicas=count if high is None else high)


def errors(job: PyTorchJob, old: PyTorchJob | None) -> list[FieldError]:
    """What admission refuses; `old` is None on creation. Defaults must not have been applied."""
    spec = job.spec
    return [
        *job_errors(job, old),
        *_elastic_errors(spec),
        *missing_roles_errors(spec.pytorch_replica_specs, KIND),
        *(error for role, replica in spec.pytorch_replica_specs.items() for error in _replica_errors(role, replica)),
    ]


def warnings(job: PyTorchJob) -> list[str]:
    """What admission warns of."""
    elastic = job.spec.elastic_policy
    if elastic and elastic.n_proc_per_node is not None:
        return [f"{_ELASTIC_NPROC} is deprecated, use spec.nprocPerNode instead"]
    return []


def _elastic_errors(spec: PyTorchJobSpec) -> list[FieldError]:
    if spec.elastic_policy is None:
        return []
    found = []
    if WORKER not in spec.pytorch_replica_specs:
        found.append(required(f"{_REPLICAS}[{WORKER}]", "must be configured if elastic policy is used"))
    if spec.elastic_policy.n_proc_per_node is not None and spec.nproc_per_node is not None:
        found.append(forbidden(_ELASTIC_NPROC, "must not be used with spec.nprocPerNode"))
    return found


def _replica_errors(role: str, replica: ReplicaSpec) -> list[FieldError]:
    field = f"{_REPLICAS}[{role}]"
    return [
        *replica_errors(role, replica, KIND),
        *(exactly_one_errors(replica, field=field) if role == MASTER else _at_least_one_errors(replica, field=field)),
    ]


def _at_least_one_errors(replica: ReplicaSpec, *, field: str) -> list[FieldError]:
    if replica.replicas is None or replica.replicas >= 1:
        return []
    return [forbidden(f"{field}.replicas", "must be at least 1")]
