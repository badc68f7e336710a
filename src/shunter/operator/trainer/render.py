"""From a TrainJob and its runtime to the objects it needs: pure, the same for the operator and for the migration's proof."""

from __future__ import annotations

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, controller_reference
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer import validation
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, NODE, MLPolicy
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError, Model, PodSet, model_of
from shunter.operator.trainer.plugins import PLUGINS, POLICIES
from shunter.operator.trainer.plugins.jobset import jobset
from shunter.operator.trainer.resources import merged_resources
from shunter.operator.trainer.strategic_merge import strategic_merge


def jobset_for(job: TrainJob, runtime: Json) -> Json:
    """The JobSet of a job, with its owner. `runtime` is the JSON of a TrainingRuntime or ClusterTrainingRuntime and is not
    changed. Raises BuildError when the two do not go together."""
    return owned(job, jobset(rendered(job, runtime)))


def objects_for(job: TrainJob, runtime: Json) -> list[Json]:
    """Everything the job needs beside its snapshot, in the order in which it is written: the JobSet comes last."""
    model = rendered(job, runtime)
    others = [wanted for plugin in PLUGINS for wanted in plugin.objects(model)]
    return [owned(job, wanted) for wanted in (*others, jobset(model))]


def rendered(job: TrainJob, runtime: Json) -> Model:
    """The model after all plugins. Raises BuildError."""
    spec = runtime.get("spec") or {}
    policy = policy_of(spec.get("mlPolicy"))
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    for patch in job.spec.runtime_patches:
        patched = (patch.training_runtime_spec.get("template") or {}).get("metadata") or {}
        labels = {**labels, **(patched.get("labels") or {})}
        annotations = {**annotations, **(patched.get("annotations") or {})}
    model = model_of(job, policy, {"labels": labels, "annotations": annotations}, patched_spec(job, template))
    if policy is not None:
        for pods in model.pod_sets:
            merge_trainer_resources(job, pods)
    for plugin in PLUGINS:
        plugin.apply(model)
    return model


def policy_of(policy: Json | None) -> MLPolicy | None:
    """The runtime's policy. Raises BuildError for one that no plugin stands for, or that is malformed."""
    if policy is None:
        return None
    unknown = [
        name for name in ("torch", "mpi", "jax", "xgboost", "flux") if policy.get(name) is not None and name not in POLICIES
    ]
    if unknown:
        raise BuildError(
            f"spec.mlPolicy.{unknown[0]} of the runtime is not supported yet", "Use a runtime with torch or no policy."
        )
    try:
        return msgspec.convert(policy, MLPolicy)
    except msgspec.ValidationError as error:
        raise BuildError(f"spec.mlPolicy of the runtime: {error}") from error


def patched_spec(job: TrainJob, template: Json) -> Json:
    """The template's JobSetSpec with the job's patches merged in their order: a later one wins."""
    spec: Json = template.get("spec") or {}
    for patch in job.spec.runtime_patches:
        spec = merged_spec(spec, (patch.training_runtime_spec.get("template") or {}).get("spec") or {})
    return spec


def merged_spec(jobset_spec: Json, patch: Json) -> Json:
    """A patch merged in; replicated jobs keep the runtime's order, unknown ones come first (3.5)."""
    merged = strategic_merge(jobset_spec, patch)
    places = {job.get("name"): place for place, job in enumerate(jobset_spec.get("replicatedJobs") or [])}
    if "replicatedJobs" in merged:
        merged["replicatedJobs"] = sorted(merged["replicatedJobs"], key=lambda job: places.get(job.get("name"), 0))
    return merged


def merge_trainer_resources(job: TrainJob, pods: PodSet) -> None:
    """The job's resources a node, for the training containers."""
    trainer = job.spec.trainer
    if trainer is None or trainer.resources_per_node is None or pods.ancestor != ANCESTOR_TRAINER:
        return
    for container in pods.containers:
        if container.get("name") == NODE:
            container["resources"] = merged_resources(container.get("resources") or {}, trainer.resources_per_node)


def owned(job: TrainJob, wanted: Json) -> Json:
    owner = controller_reference(TRAIN_JOBS.api_version, TRAIN_JOBS.kind, job.metadata.name, job.metadata.uid)
    return {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": [owner]}}


def trainjob_errors(job: TrainJob, runtime: Json) -> list[FieldError]:
    """What admission refuses in a job of this runtime (2.3). Raises BuildError for a runtime that cannot be built at all."""
    spec = runtime.get("spec") or {}
    policy = policy_of(spec.get("mlPolicy"))
    template = spec.get("template") or {}
    merged = {**template, "spec": patched_spec(job, template)}
    return [
        *validation.initializer_errors(job, merged),
        *validation.patch_errors(job),
        *validation.patch_target_errors(job, template),
        *(fault for plugin in PLUGINS for fault in plugin.errors(job, policy, merged)),
    ]
