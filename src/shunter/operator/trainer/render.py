"""From a TrainJob and its runtime to the objects it needs: pure, the same for the operator and for the migration's proof."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from shunter.api.field_errors import FieldError, new_errors
from shunter.api.meta import Json, controller_reference
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer import validation
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, NODE
from shunter.api.trainer.trainjob import RuntimePatch, TrainJob
from shunter.operator.trainer.model import BuildError, Model, PodSet, model_of
from shunter.operator.trainer.plugin import AdmissionContext, Companion, ForeignField
from shunter.operator.trainer.plugins import PLUGINS
from shunter.operator.trainer.plugins.jobset import jobset
from shunter.operator.trainer.resources import merged_resources
from shunter.operator.trainer.runtime_patches import merged_template
from shunter.operator.trainer.runtime_spec import RuntimeSpec, check_job, check_template, runtime_spec
from shunter.operator.trainer.statusserver.place import StatusServerPlace


class Rendered(NamedTuple):
    """Everything a job needs beside its snapshot, each with the job as its owner."""

    jobset: Json
    objects: tuple[Json, ...]
    """ConfigMaps and PodGroups, in the order in which they are written; the JobSet comes after them."""
    secrets: Mapping[Companion, Callable[[bytes], Json]]
    """How each Secret is made from random bytes, if there is none of its name."""


def rendered(job: TrainJob, runtime: Json, status_server: StatusServerPlace | None = None) -> Rendered:
    """The objects of a job. `runtime` is the JSON of a TrainingRuntime or ClusterTrainingRuntime and is not changed.
    `status_server` is where its pods are to report, if anywhere. Raises BuildError when job and runtime do not go together."""
    model = completed_model(job, runtime, status_server)
    objects = tuple(owned(job, desired) for plugin in PLUGINS for desired in plugin.objects(model))
    secrets = {companion: _owned_secret(job, make) for plugin in PLUGINS for companion, make in plugin.secrets(model).items()}
    return Rendered(owned(job, jobset(model)), objects, secrets)


def jobset_for(job: TrainJob, runtime: Json) -> Json:
    """Only the JobSet. Raises BuildError."""
    return rendered(job, runtime).jobset


def completed_model(job: TrainJob, runtime: Json, status_server: StatusServerPlace | None = None) -> Model:
    """The model after all plugins. Raises BuildError."""
    spec = runtime_spec(runtime)
    template = checked_template(job, spec)
    model = model_of(job, spec.policy, spec.pod_groups, template)
    model.status_server = status_server
    if spec.policy is not None:
        for pods in model.pod_sets:
            if pods.ancestor == ANCESTOR_TRAINER or (pods.name == NODE and model.is_launcher_node):
                merge_trainer_resources(job, pods)
    for plugin in PLUGINS:
        plugin.apply(model)
    return model


def checked_template(job: TrainJob, spec: RuntimeSpec) -> Json:
    """The runtime's template with the job's patches merged in. Raises BuildError for a job, or a result, of another shape."""
    check_job(job)
    template = merged_template(spec.template, job.spec.runtime_patches)
    if job.spec.runtime_patches:
        check_template(template, spec.name)
    return template


def merge_trainer_resources(job: TrainJob, pods: PodSet) -> None:
    """The job's resources a node, for the training containers."""
    trainer = job.spec.trainer
    if trainer is None or trainer.resources_per_node is None:
        return
    for container in pods.containers:
        if container.get("name") == NODE:
            container["resources"] = merged_resources(container.get("resources") or {}, trainer.resources_per_node)


def owned(job: TrainJob, desired: Json) -> Json:
    """A copy with the job as its only owner and its controller."""
    owner = controller_reference(TRAIN_JOBS.api_version, TRAIN_JOBS.kind, job.metadata.name, job.metadata.uid)
    return {**desired, "metadata": {**desired["metadata"], "ownerReferences": [owner]}}


def _owned_secret(job: TrainJob, make: Callable[[bytes], Json]) -> Callable[[bytes], Json]:
    return lambda randomness: owned(job, make(randomness))


def priority_classes(job: TrainJob, runtime: Json) -> list[str]:
    """The PriorityClasses whose existence admission depends on. Raises BuildError."""
    spec = runtime_spec(runtime)
    template = checked_template(job, spec)
    return [name for plugin in PLUGINS for name in plugin.priority_classes(spec.pod_groups, template)]


def foreign_fields(runtime: Json) -> list[ForeignField]:
    """The fields of other programs' kinds whose existence admission depends on. Raises BuildError."""
    spec = runtime_spec(runtime)
    return [field for plugin in PLUGINS for field in plugin.foreign_fields(spec.pod_groups)]


class Facts(NamedTuple):
    """What admission knows of the cluster beside job and runtime."""

    missing_priority_classes: Mapping[str, str] = {}
    """The missing PriorityClasses that `priority_classes` names, with the API server's message."""
    missing_fields: Collection[ForeignField] = ()
    """The missing fields among those that `foreign_fields` names."""


NO_FACTS = Facts()


def trainjob_warnings(job: TrainJob, runtime: Json, facts: Facts = NO_FACTS) -> list[str]:
    """Warnings about a new job of this runtime that admission accepts. Raises BuildError."""
    context = _admission_context(job, runtime, facts)
    return [
        *validation.account_warnings(job, runtime_spec(runtime).template),
        *(text for plugin in PLUGINS for text in plugin.warnings(context)),
    ]


def trainjob_errors(job: TrainJob, runtime: Json, facts: Facts = NO_FACTS, old: TrainJob | None = None) -> list[FieldError]:
    """What admission refuses in a job of this runtime; in an update of `old` only what it makes worse. Raises BuildError
    for a runtime that cannot be built at all."""
    known = old.spec.runtime_patches if old else ()
    patches = [patch for patch in job.spec.runtime_patches if patch not in known]
    errors = _errors(job, runtime, facts, patches)
    if old is None:
        return errors
    try:
        return new_errors(errors, _errors(old, runtime, facts, ()))
    except BuildError:
        return errors


def _admission_context(job: TrainJob, runtime: Json, facts: Facts) -> AdmissionContext:
    spec = runtime_spec(runtime)
    template = checked_template(job, spec)
    return AdmissionContext(job, spec.policy, spec.pod_groups, template, facts.missing_priority_classes, facts.missing_fields)


def _errors(job: TrainJob, runtime: Json, facts: Facts, patches: Sequence[RuntimePatch]) -> list[FieldError]:
    context = _admission_context(job, runtime, facts)
    return [
        *validation.initializer_errors(job, context.template),
        *validation.patch_errors(job, patches),
        *validation.patch_target_errors(job, patches, runtime_spec(runtime).template),
        *(fault for plugin in PLUGINS for fault in plugin.errors(context)),
    ]
