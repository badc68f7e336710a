"""What a job is built from, held to the shape that everything else here relies on: the spec of its runtime, and what passes
through the TrainJob as plain JSON.

Schemas see to it, but a CRD may have been changed under the objects, webhooks are asked before the schema is, and a
snapshot may have been edited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json, Struct
from shunter.api.shapes import PodTemplate, Resources, ShapeError, TemplateMetadata, Variable, shaped
from shunter.api.trainer.runtime import MLPolicy, PodGroupPolicy
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError

Shape = TypeVar("Shape")


class RuntimeSpec(NamedTuple):
    """The parts of a runtime's spec, as `runtime_spec` has checked them."""

    name: str
    """Kind and name, for messages."""
    policy: MLPolicy | None
    pod_groups: PodGroupPolicy | None
    template: Json
    """The template as written."""


def runtime_spec(runtime: Json) -> RuntimeSpec:
    """The parts of a runtime's spec. Raises BuildError that names the field which is not what it should be."""
    spec = runtime.get("spec") or {}
    name = f"{runtime.get('kind', '')} {(runtime.get('metadata') or {}).get('name', '')}"
    shape = _converted(spec, _Spec, "spec", name)
    template = spec.get("template") or {}
    check_template(template, name)
    return RuntimeSpec(name, shape.ml_policy, shape.pod_group_policy, template)


def check_template(template: Any, runtime: str, field: str = "spec.template") -> None:
    """Raises BuildError if `template` has not the shape of a JobSet template. `runtime` is the kind and name of the object in
    which it is `field`."""
    shape = _converted(template, _Template, field, runtime)
    for replicated_job in (shape.spec.replicated_jobs if shape.spec else None) or ():
        pods = replicated_job.template.spec.template if replicated_job.template and replicated_job.template.spec else None
        for container in (*(pods.spec.containers or ()), *(pods.spec.init_containers or ())) if pods and pods.spec else ():
            place = f"in the resources of container {container.name} of the replicated job {replicated_job.name}"
            _check_quantities(container.resources, f"{field} of {runtime}:", place)


def check_job(job: TrainJob) -> None:
    """Raises BuildError for the parts of a TrainJob that are merged into the runtime's template and have not the shape of it."""
    name = f"TrainJob {job.metadata.name}"
    spec = job.spec
    sources = {"dataset": spec.initializer.dataset, "model": spec.initializer.model} if spec.initializer else {}
    for field, source in sources.items():
        if source is not None:
            _check_variables(source.env, f"spec.initializer.{field}.env", name)
            _converted(source.secret_ref or {}, _Reference, f"spec.initializer.{field}.secretRef", name)
    if spec.trainer is not None:
        _check_variables(spec.trainer.env, "spec.trainer.env", name)
        field = "spec.trainer.resourcesPerNode"
        resources = _converted(spec.trainer.resources_per_node or {}, Resources, field, name)
        _check_quantities(resources, f"{field} of {name}:")
    for index, patch in enumerate(spec.runtime_patches):
        field = f"spec.runtimePatches[{index}].trainingRuntimeSpec"
        check_template(patch.training_runtime_spec.get("template") or {}, name, f"{field}.template")


def _check_variables(variables: Iterable[Json], field: str, owner: str) -> None:
    for index, variable in enumerate(variables):
        _converted(variable, Variable, f"{field}[{index}]", owner)


def _converted(value: Any, shape: type[Shape], field: str, owner: str) -> Shape:
    try:
        return shaped(value, shape)
    except ShapeError as error:
        below = error.field if error.field.startswith("[") or not error.field else f".{error.field}"
        raise BuildError(f"{field}{below} of {owner}: {error.text}") from error


def _check_quantities(resources: Resources | None, before: str, after: str = "") -> None:
    for quantities in (resources.limits, resources.requests) if resources else ():
        for name, quantity in (quantities or {}).items():
            try:
                parse(quantity)
            except ValueError as error:
                raise BuildError(f"{' '.join(filter(None, (before, name, after)))} is {quantity!r}: {error}") from error


class _Reference(Struct, frozen=True):
    name: str | None = None


class _JobSpec(Struct, frozen=True):
    parallelism: int | None = None
    template: PodTemplate | None = None


class _JobTemplate(Struct, frozen=True):
    metadata: TemplateMetadata | None = None
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
    metadata: TemplateMetadata | None = None
    spec: _JobSetSpec | None = None


class _Spec(Struct, frozen=True):
    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: Json | None = None
