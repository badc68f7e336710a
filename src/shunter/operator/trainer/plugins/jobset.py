"""The last step: the JobSet from a model that all plugins have been through."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER, NODE
from shunter.api.trainer.trainjob import InitializerSource, Trainer
from shunter.operator.trainer.model import Model, PodSet
from shunter.operator.trainer.upserts import applied_env, upsert_env

ANCESTORS = (ANCESTOR_TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)


def jobset(model: Model) -> Json:
    """The JobSet without its owner. Every replicated job runs as many pods as it completes; the sections of the TrainJob override
    the containers of their replicated jobs."""
    for pods in model.pod_sets:
        override(model, pods)
    metadata: Json = {"name": model.job.metadata.name, "namespace": model.job.metadata.namespace}
    if model.labels:
        metadata["labels"] = model.labels
    if model.annotations:
        metadata["annotations"] = model.annotations
    replicated_jobs = model.spec.get("replicatedJobs") or []
    built = [replicated_job(model, original, pods) for original, pods in zip(replicated_jobs, model.pod_sets, strict=True)]
    spec = {**model.spec, "replicatedJobs": built, "suspend": bool(model.job.spec.suspend)}
    return JOBSETS.typed({"metadata": metadata, "spec": spec})


def replicated_job(model: Model, original: Json, pods: PodSet) -> Json:
    """One replicated job of the JobSet: `original`, which is the runtime's and stays as it is, with the model's pods. One whose
    ancestor is in `ANCESTORS` gets one replica."""
    job_template = original.get("template") or {}
    pod_spec: Json = {**(pods.template.get("spec") or {}), "containers": pods.containers}
    if pods.init_containers:
        pod_spec["initContainers"] = pods.init_containers
    if pods.volumes:
        pod_spec["volumes"] = pods.volumes
    job_spec = {
        **(job_template.get("spec") or {}),
        "parallelism": pods.count,
        "completions": pods.count,
        "template": {**pods.template, **_pod_metadata(model, pods), "spec": pod_spec},
    }
    built = {**original, "template": {**job_template, "spec": job_spec}}
    if pods.ancestor in ANCESTORS:
        built["replicas"] = 1
    return built


def _pod_metadata(model: Model, pods: PodSet) -> Json:
    """The pod template's metadata with what schedulers look for; nothing where there is nothing to add."""
    metadata = pods.template.get("metadata") or {}
    added = {
        field: {**(metadata.get(field) or {}), **own}
        for field, own in (("labels", model.pod_labels), ("annotations", model.pod_annotations))
        if own
    }
    return {"metadata": {**metadata, **added}} if added else {}


def override(model: Model, pods: PodSet) -> None:
    """The TrainJob's section for this replicated job, if it has one."""
    spec = model.job.spec
    if pods.ancestor == ANCESTOR_TRAINER and model.trainer is not None:
        _override_trainer(pods, model.trainer)
    elif pods.name == NODE and model.trainer is not None and model.is_launcher_node:
        _add_environment(pods, model.trainer)
    initializer = spec.initializer
    sources = {DATASET_INITIALIZER: initializer.dataset, MODEL_INITIALIZER: initializer.model} if initializer else {}
    source = sources.get(pods.ancestor)
    if source is not None:
        _override_initializer(pods, source)


def _override_trainer(pods: PodSet, trainer: Trainer) -> None:
    """An empty command or list of arguments takes the runtime's away; an absent one keeps it."""
    container = pods.container(NODE)
    if container is None:
        return
    if trainer.image is not None:
        container["image"] = trainer.image
    for field, words in (("command", trainer.command), ("args", trainer.args)):
        if words is not None:
            container.pop(field, None)
        if words:
            container[field] = [*words]
    upsert_env(container, applied_env(trainer.env))


def _add_environment(pods: PodSet, trainer: Trainer) -> None:
    """The nodes of an MPI job whose launcher trains as well get the job's environment, and nothing else of it."""
    container = pods.container(NODE)
    if container is not None:
        upsert_env(container, applied_env(trainer.env))


def _override_initializer(pods: PodSet, source: InitializerSource) -> None:
    container = pods.container(pods.ancestor)
    if container is None:
        return
    if source.storage_uri is not None:
        upsert_env(container, [{"name": "STORAGE_URI", "value": source.storage_uri}])
    upsert_env(container, applied_env(source.env))
    if source.secret_ref is not None:
        secret = {"secretRef": {"name": source.secret_ref.get("name", "")}}
        container["envFrom"] = [*(container.get("envFrom") or []), secret]
