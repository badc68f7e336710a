"""The port at which the pods of a job meet: the one of the kind's name on the container that trains."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.job_kind import JobKind


def named_port(spec: ReplicaSpec | None, kind: JobKind) -> Json:
    """The port of that name as a role has it; empty when it has none."""
    assert kind.port is not None, f"{kind.resource.kind} has no port"
    containers = (spec.template.get("spec") or {}).get("containers") or [] if spec else []
    trains = (container for container in containers if container.get("name") == kind.container)
    ports = (port for container in trains for port in container.get("ports") or [])
    return next((port for port in ports if port.get("name") == kind.port.name), {})


def rendezvous_port(spec: ReplicaSpec | None, kind: JobKind) -> int:
    """The port of a role, which defaulting adds where it is missing; the kind's own for a role that is not there."""
    assert kind.port is not None, f"{kind.resource.kind} has no port"
    return int(named_port(spec, kind).get("containerPort", kind.port.number))
