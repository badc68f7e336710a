"""The runtime as it was when a job first met it, kept in a ConfigMap of the job.

Later changes of the runtime, or its deletion, do not reach the job. The ConfigMap is the source of truth: editing it changes the
job, deleting it takes the present runtime.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import yaml

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, CONFIG_MAPS, TRAINING_RUNTIMES
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.yaml import LenientLoader, dump_yaml
from shunter.kube.controllers.plan import Key
from shunter.operator.trainer.go_encoding import without_empty
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.views import ConfigMap

DATA_KEY = "runtime"
KINDS = {(resource.kind, resource.group): resource for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)}
"""The runtimes a TrainJob may refer to, by kind and API group."""

_SUFFIX = "-runtime-snapshot"
DEEPEST = 100
"""Levels of a runtime that goes into a snapshot; Kubernetes' own types have about thirty."""


def snapshot_name(job_name: str) -> str:
    """`bert-runtime-snapshot`: the ConfigMap of the job `bert`."""
    return f"{job_name}{_SUFFIX}"


def job_of_snapshot(config_map: ConfigMap) -> Iterable[Key]:
    """The job that takes a ConfigMap of this name for its snapshot, whatever its owner: one that is in the way may be deleted."""
    metadata = config_map.metadata
    name = metadata.name.removesuffix(_SUFFIX)
    return (Key(metadata.namespace, name),) if name != metadata.name else ()


def snapshot_of(job: TrainJob, runtime: Json) -> Json:
    """The ConfigMap that keeps this runtime for this job, without its owner."""
    text = dump_yaml(as_go_writes(runtime), sort_keys=True, width=2**31 - 1)
    metadata = {"name": snapshot_name(job.metadata.name), "namespace": job.metadata.namespace}
    return CONFIG_MAPS.typed({"metadata": metadata, "data": {DATA_KEY: text}})


def runtime_in(job: TrainJob, snapshot: ConfigMap) -> Json:
    """The runtime that the job's snapshot keeps. Raises BuildError when it is not this job's, broken, or of another runtime."""
    if not snapshot.metadata.is_controlled_by(job.metadata.uid):
        raise _invalid(job, "a snapshot configmap exists but is owned by another object")
    text = (snapshot.data or {}).get(DATA_KEY)
    if text is None:
        raise _invalid(job, f'snapshot ConfigMap missing "{DATA_KEY}" data key')
    try:
        runtime = _parsed(text)
    except yaml.YAMLError as error:
        raise _invalid(job, f"unable to unmarshal the snapshot: {' '.join(str(error).split())}") from error
    if not isinstance(runtime, dict):
        raise _invalid(job, "unable to unmarshal the snapshot: it is not an object")
    reference = job.spec.runtime_ref
    wanted = (reference.name, reference.api_group, reference.kind)
    metadata = runtime.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    found = (name, str(runtime.get("apiVersion", "")).partition("/")[0], runtime.get("kind", ""))
    if found != wanted:
        expected, got = (", ".join(f'"{part}"' for part in parts) for parts in (wanted, found))
        raise _invalid(
            job,
            "the snapshot refers to the wrong runtime: expecting a runtime with name, api group and kind of "
            f"{expected} but found runtime with name, api group and kind of {got}",
        )
    return runtime


def not_found(job: TrainJob) -> BuildError:
    """The job's runtime does not exist, in the words of upstream and of the API server."""
    reference = job.spec.runtime_ref
    missing = f'{reference.kind}.{reference.api_group} "{reference.name}" not found'
    if reference.kind == TRAINING_RUNTIMES.kind:
        text = f"TrainingRuntime specified in TrainJob is not found: {missing}"
    else:
        text = f"not found ClusterTrainingRuntime specified in TrainJob: {missing}"
    return BuildError(text, f"Create the {reference.kind} {reference.name}.", reason="RuntimeNotFound")


def _invalid(job: TrainJob, reason: str) -> BuildError:
    outer = "unable to get" if job.spec.runtime_ref.kind == TRAINING_RUNTIMES.kind else "getting"
    return BuildError(f"{outer} runtime snapshot: invalid runtime snapshot: {reason}", reason="SnapshotInvalid")


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> object:
    """Shared between reconciles of all jobs, and never changed by them."""
    return yaml.load(text, LenientLoader)


def as_go_writes(runtime: Json) -> Json:
    """The runtime as Go's types write it: metadata of templates and resources of containers are always there, be they empty; no
    restarts, which is the default, and empty values of variables are left out. Raises BuildError for one that cannot be kept in a
    snapshot."""
    _check_depth(runtime)
    spec = runtime.get("spec") or {}
    if "template" not in spec:
        return runtime
    template = spec["template"] or {}
    jobset_spec = template.get("spec") or {}
    written = {**jobset_spec}
    if jobset_spec.get("replicatedJobs"):
        written["replicatedJobs"] = [_replicated_job(job) for job in jobset_spec["replicatedJobs"]]
    if policy := jobset_spec.get("failurePolicy"):
        written["failurePolicy"] = without_empty(policy)
    return {**runtime, "spec": {**spec, "template": {"metadata": {}, **template, "spec": written}}}


def _check_depth(runtime: Json) -> None:
    level: list[object] = [runtime]
    for _ in range(DEEPEST):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        name = (runtime.get("metadata") or {}).get("name", "")
        raise BuildError(f"{runtime.get('kind', '')} {name} is nested more than {DEEPEST} levels deep")


def _replicated_job(job: Json) -> Json:
    job_template = job.get("template") or {}
    job_spec = job_template.get("spec") or {}
    pod_template = job_spec.get("template") or {}
    pod_spec = {**(pod_template.get("spec") or {})}
    for field in ("initContainers", "containers"):
        if pod_spec.get(field):
            pod_spec[field] = [_container(container) for container in pod_spec[field]]
    written_spec = {**job_spec, "template": {"metadata": {}, **pod_template, "spec": pod_spec}}
    return {**job, "template": {"metadata": {}, **job_template, "spec": written_spec}}


def _container(container: Json) -> Json:
    written = {"resources": {}, **container}
    if container.get("env"):
        written["env"] = without_empty(container["env"])
    return written
