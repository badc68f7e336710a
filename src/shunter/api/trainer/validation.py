"""What admission refuses in TrainJobs of every runtime. Texts, paths and their oddities are those of Kubeflow Trainer v2.3.

`template` is the runtime's JobSet template; where upstream looks at it with the job's own patches merged, so do we.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from shunter.api.field_errors import FieldError, forbidden, invalid
from shunter.api.meta import Json
from shunter.api.names import prefixed_path_faults
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES
from shunter.api.trainer import template as templates
from shunter.api.trainer.patches import TrainingRuntimeSpecPatch
from shunter.api.trainer.runtime import DATASET_INITIALIZER, MODEL_INITIALIZER, NODE
from shunter.api.trainer.trainjob import RuntimePatch, RuntimeRef, TrainJob

PATCHES = "spec.runtimePatches"

_INITIALIZER_VOLUME = "initializer"
_NO_EXTRA_ENVIRONMENT = (DATASET_INITIALIZER, MODEL_INITIALIZER, NODE)


def unsupported_runtime(ref: RuntimeRef) -> str:
    """Why there can be no such runtime, or "" when its kind is one of the two that exist."""
    if not ref.name:
        return "unsupported runtime: "
    if any((ref.api_group, ref.kind) == (known.group, known.kind) for known in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)):
        return ""
    return f"unsupported runtime: {ref.kind}{'.' if ref.api_group else ''}{ref.api_group}"


def missing_runtime_error(ref: RuntimeRef, answer: str) -> FieldError:
    """The runtime could not be read; `answer` is what the API server said."""
    # Upstream writes the one path with a capital letter; scripts may match on it.
    field = "spec.runtimeRef" if ref.kind == TRAINING_RUNTIMES.kind else "spec.RuntimeRef"
    kind = ref.kind[0].lower() + ref.kind[1:]
    return invalid(field, _shown_ref(ref), f"{answer}: specified {kind} must be created before the TrainJob is created")


def initializer_errors(job: TrainJob, template: Json) -> list[FieldError]:
    """A job that asks for a dataset or model needs a replicated job of that name, in the template with its patches merged,
    that has the container and the volume for it."""
    initializer = job.spec.initializer
    if initializer is None:
        return []
    wanted = ((initializer.dataset, DATASET_INITIALIZER, "datasetConfig"), (initializer.model, MODEL_INITIALIZER, "modelConfig"))
    faults = [_initializer_fault(template, name, section) for source, name, section in wanted if source is not None]
    return [invalid("spec.runtimeRef", _shown_ref(job.spec.runtime_ref), fault) for fault in faults if fault]


def _initializer_fault(template: Json, name: str, section: str) -> str:
    replicated_job = templates.replicated_job(template, name)
    if replicated_job is None:
        return f"must have {name} job when trainJob is configured with input {section}"
    if name not in templates.container_names(replicated_job):
        return f"must have container with name - {name} in the {name} job"
    mounts = [
        mount.get("name")
        for container in templates.containers(replicated_job)
        if container.get("name") == name
        for mount in container.get("volumeMounts") or []
    ]
    if _INITIALIZER_VOLUME not in mounts:
        return f"must have volumeMount with name - {_INITIALIZER_VOLUME} in container {name} of the {name} job"
    return ""


def account_warnings(job: TrainJob, template: Json) -> list[str]:
    """Accounts that the runtime's own template names. They are of the job's namespace, and are not created for it: without one
    its pods are never made, which only an event of a Job tells."""
    named: dict[str, list[str]] = {}
    for replicated_job in templates.replicated_jobs(template):
        pods = templates.pod_spec(replicated_job)
        account = pods.get("serviceAccountName") or ""
        if account not in ("", "default"):
            named.setdefault(account, []).append(replicated_job.get("name", ""))
    return [
        f"pods of {', '.join(jobs)} run as ServiceAccount {account}, which no installation creates: unless it "
        f"exists in namespace "
        f"{job.metadata.namespace}, no pod is created; create it with the RBAC rules from the documentation of the runtime"
        for account, jobs in named.items()
    ]


def reserved_environment_errors(job: TrainJob, reserved: Collection[str]) -> list[FieldError]:
    """Variables in `spec.trainer.env` that belong to the operator."""
    environment = job.spec.trainer.env if job.spec.trainer else ()
    taken = sorted({variable["name"] for variable in environment} & set(reserved))
    if not taken:
        return []
    detail = f"must not have reserved envs, invalid envs configured: [{' '.join(taken)}]"
    return [invalid("spec.trainer.env", list(environment), detail)]


def patch_errors(job: TrainJob, patches: Sequence[RuntimePatch]) -> list[FieldError]:
    """Managers are domain-prefixed paths, and the containers that the operator sets up get no environment from patches. `patches`
    are those of the job that are to be judged."""
    errors = [
        invalid(f"{PATCHES}.manager", part, fault) for patch in patches for part, fault in prefixed_path_faults(patch.manager)
    ]
    if any(_adds_environment(patch) for patch in patches):
        names = ", ".join(_NO_EXTRA_ENVIRONMENT)
        errors.append(invalid(PATCHES, _shown_patches(job), f"must not have envs for the {names} containers"))
    return errors


def _adds_environment(patch: RuntimePatch) -> bool:
    return any(
        container.get("env") and container.get("name") in _NO_EXTRA_ENVIRONMENT
        for replicated_job in _patched_jobs(patch)
        for container in templates.containers(replicated_job)
    )


def patch_target_errors(job: TrainJob, patches: Iterable[RuntimePatch], template: Json) -> list[FieldError]:
    """Patches to what the runtime, without patches, does not have; `patches` are those of the job that are to be judged.

    Upstream means to refuse them but merges first, so they pass there and the JobSet cannot be made later.
    """
    faults = [fault for patch in patches for fault in _target_faults(patch, template)]
    return [invalid(PATCHES, _shown_patches(job), fault) for fault in dict.fromkeys(faults)]


def _target_faults(patch: RuntimePatch, template: Json) -> Iterable[str]:
    for patched in _patched_jobs(patch):
        name = patched.get("name", "")
        replicated_job = templates.replicated_job(template, name)
        if replicated_job is None:
            yield "must not have replicated job that doesn't exist in the runtime job template"
            continue
        known = templates.container_names(replicated_job)
        if any(container.get("name") not in known for container in templates.init_containers(patched)):
            yield f"must not have initContainer that doesn't exist in the runtime job {name}"
        if any(container.get("name") not in known for container in templates.containers(patched)):
            yield f"must not have container that doesn't exist in the runtime job {name}"


def patch_change_errors(job: TrainJob, old: TrainJob, active_replicated_jobs: Iterable[str]) -> list[FieldError]:
    """Patches change only while the job is suspended, and not while pods of it still run.

    `active_replicated_jobs` are those with active Jobs in the status of the JobSet; none when there is no JobSet.
    """
    if job.spec.runtime_patches == old.spec.runtime_patches:
        return []
    if not job.spec.suspend and not old.spec.suspend:
        detail = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        return [forbidden(PATCHES, detail)]
    return [
        forbidden(PATCHES, f"RuntimePatches cannot be modified when the JobSet's ReplicatedJob {name} is still active")
        for name in active_replicated_jobs
    ]


def _patched_jobs(patch: RuntimePatch) -> list[Json]:
    return templates.replicated_jobs(patch.training_runtime_spec.get("template") or {})


def _shown_ref(ref: RuntimeRef) -> Json:
    return {"name": ref.name, "apiGroup": ref.api_group, "kind": ref.kind}


def _shown_patches(job: TrainJob) -> list[Json]:
    """The patches as upstream prints them: fields in the order of its types."""
    return [
        {
            "manager": patch.manager,
            **({"time": patch.time} if patch.time else {}),
            **({"trainingRuntimeSpec": _in_type_order(patch.training_runtime_spec)} if patch.training_runtime_spec else {}),
        }
        for patch in job.spec.runtime_patches
    ]


def _in_type_order(spec: Json) -> Json:
    try:
        ordered: Json = msgspec.to_builtins(msgspec.convert(spec, TrainingRuntimeSpecPatch))
    except msgspec.ValidationError:
        return spec
    return ordered
