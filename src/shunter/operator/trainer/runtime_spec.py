"""The spec of a runtime, held to the shape that everything else here relies on.

The schema sees to it, but a definition may have been changed under the objects, and a snapshot may have been edited.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from shunter.api.meta import Json, Struct
from shunter.api.quantity import parse
from shunter.api.trainer.runtime import MLPolicy, PodGroupPolicy
from shunter.operator.trainer.model import BuildError

Shape = TypeVar("Shape")


class RuntimeSpec(NamedTuple):
    name: str
    """Kind and name, for messages."""
    policy: MLPolicy | None
    pod_groups: PodGroupPolicy | None
    template: Json
    """As it is written."""


def runtime_spec(runtime: Json) -> RuntimeSpec:
    """The parts of a runtime's spec. Raises BuildError that names the field which is not what it should be."""
    spec = runtime.get("spec") or {}
    name = f"{runtime.get('kind', '')} {(runtime.get('metadata') or {}).get('name', '')}"
    shape = _converted(spec, _Spec, "spec", name)
    template = spec.get("template") or {}
    check_template(template, name)
    return RuntimeSpec(name, shape.ml_policy, shape.pod_group_policy, template)


def check_template(template: Json, runtime: str) -> None:
    """Raises BuildError for the JobSet template of a runtime, with a job's patches merged or without, that has not the shape of
    one. `runtime` is the runtime's kind and name."""
    shape = _converted(template, _Template, "spec.template", runtime)
    for replicated_job in (shape.spec.replicated_jobs if shape.spec else None) or ():
        for container in _containers(replicated_job):
            for quantities in (container.resources.limits, container.resources.requests) if container.resources else ():
                for name, quantity in (quantities or {}).items():
                    place = f"container {container.name} of the replicated job {replicated_job.name}"
                    _check_quantity(f"spec.template of {runtime}: {name} in the resources of {place}", quantity)


def _converted(value: Any, shape: type[Shape], field: str, runtime: str) -> Shape:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        fault, _, place = str(error).partition(" - at `$")
        raise BuildError(f"{field}{place.rstrip('`')} of {runtime}: {fault[0].lower()}{fault[1:]}") from error


def _check_quantity(field: str, quantity: Any) -> None:
    try:
        parse(quantity)
    except ValueError as error:
        raise BuildError(f"{field} is {quantity!r}: {error}") from error


class _Variable(Struct, frozen=True):
    name: str
    value: str | None = None


class _Port(Struct, frozen=True):
    container_port: int | None = None
    name: str | None = None


class _Mount(Struct, frozen=True):
    mount_path: str | None = None


class _Volume(Struct, frozen=True):
    name: str = ""


class _Resources(Struct, frozen=True):
    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None


class _Container(Struct, frozen=True):
    name: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    env_from: tuple[Json, ...] | None = None
    ports: tuple[_Port, ...] | None = None
    volume_mounts: tuple[_Mount, ...] | None = None
    resources: _Resources | None = None


class _PodSpec(Struct, frozen=True):
    containers: tuple[_Container, ...] | None = None
    init_containers: tuple[_Container, ...] | None = None
    volumes: tuple[_Volume, ...] | None = None
    priority_class_name: str | None = None


class _Metadata(Struct, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _PodTemplate(Struct, frozen=True):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


class _JobSpec(Struct, frozen=True):
    parallelism: int | None = None
    template: _PodTemplate | None = None


class _JobTemplate(Struct, frozen=True):
    metadata: _Metadata | None = None
    spec: _JobSpec | None = None


class _ReplicatedJob(Struct, frozen=True):
    name: str = ""
    replicas: int = 1
    template: _JobTemplate | None = None


class _Network(Struct, frozen=True):
    subdomain: str | None = None


class _JobSetSpec(Struct, frozen=True):
    replicated_jobs: tuple[_ReplicatedJob, ...] | None = None
    network: _Network | None = None


class _Template(Struct, frozen=True):
    metadata: _Metadata | None = None
    spec: _JobSetSpec | None = None


class _Spec(Struct, frozen=True):
    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: Json | None = None


def _containers(replicated_job: _ReplicatedJob) -> tuple[_Container, ...]:
    job_spec = replicated_job.template.spec if replicated_job.template else None
    pods = job_spec.template.spec if job_spec and job_spec.template else None
    return (*(pods.containers or ()), *(pods.init_containers or ())) if pods else ()
