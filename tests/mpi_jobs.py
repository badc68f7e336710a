"""An MPIJob named ring, what is observed of it, and what a plan for it writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import CONFIG_MAPS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from shunter.api.training.mpi import MPIJob
from shunter.kube.controllers.plan import Create, Delete, Patch, Plan
from shunter.operator.training.children import children_of
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.mpi import objects, pods
from shunter.operator.training.mpi.objects import HostList, Role
from shunter.operator.training.observed import Observed

MPI = framework_of("MPIJob")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
IMAGE = "delivery:1"
STARTED = {
    "startTime": "2026-11-21T11:00:00Z",
    "conditions": [{"type": "Created", "status": "True", "reason": "MPIJobCreated", "message": "MPIJob ring is created."}],
}


def job_view(workers: int = 2, *, roles: Json | None = None, metadata: Json | None = None, **spec: Any) -> MPIJob:
    """An MPIJob named ring; `roles` adds to or replaces fields of its two roles."""
    template = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}
    specs: Json = {"Launcher": {"template": template}, "Worker": {"replicas": workers, "template": template}}
    for role, fields in (roles or {}).items():
        specs[role] = {**specs.get(role, {}), **fields}
    status = spec.pop("status", STARTED)
    return msgspec.convert(
        {
            "metadata": {"name": "ring", "namespace": "team-a", "uid": "u1", "resourceVersion": "7", **(metadata or {})},
            "spec": {"mpiReplicaSpecs": specs, **spec},
            "status": status,
        },
        MPIJob,
    )


def observed(view: MPIJob, phases: Json | None = None, *, made_for: MPIJob | None = None, exit_code: int = 137) -> Observed:
    """The job with all its objects and the pods of `phases`, made for the job as it is, or as `made_for` says it was."""
    job, before = MPI.read(view), MPI.read(made_for or view)
    found = [_pod(before, name, phase, exit_code) for name, phase in (phases or {}).items()]
    workers = [pod for pod in found if pod.metadata.name != "ring-launcher"]
    kept = {
        SERVICE_ACCOUNTS: msgspec.convert(objects.service_account(before), MetadataOnly),
        CONFIG_MAPS: msgspec.convert(objects.config_map(before, workers), HostList),
        ROLES: msgspec.convert(objects.role(before), Role),
        ROLE_BINDINGS: msgspec.convert(objects.role_binding(before), MetadataOnly),
    }
    return Observed(job=job, children=children_of(job, found, ()), kept=kept)


def _pod(job: Any, name: str, phase: str, exit_code: int) -> Pod:
    body = pods.launcher(job, IMAGE) if name == "ring-launcher" else pods.worker(job, int(name.rpartition("-")[2]))
    state: Json = {"terminated": {"exitCode": exit_code}} if phase == "Failed" else {"running": {}}
    status = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
    return msgspec.convert({**body, "status": status}, Pod)


def written(made: Plan) -> list[str]:
    return [_name(write) for write in made.writes]


def _name(write: object) -> str:
    match write:
        case Create(resource=resource, body=body):
            return f"create {resource.kind}/{body['metadata']['name']}"
        case Patch(ref=ref) | Delete(ref=ref):
            return f"{type(write).__name__.lower()} {ref.resource.kind}/{ref.name}"
    raise AssertionError(write)


ALL_RUN = {"ring-launcher": "Running", "ring-worker-0": "Running", "ring-worker-1": "Running"}


def states(made: Plan) -> list[str]:
    assert made.status is not None
    return [f"{condition['type']}={condition['status']}" for condition in made.status.desired.get("conditions", [])]


def after(view: MPIJob, made: Plan) -> MPIJob:
    """The job with the status that the plan wrote."""
    assert made.status is not None
    body = msgspec.to_builtins(view)
    return msgspec.convert({**body, "status": made.status.desired}, MPIJob)
