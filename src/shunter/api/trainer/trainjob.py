"""TrainJob (trainer.kubeflow.org/v1alpha1): what one user wants trained, on top of a runtime.

Environment, resources and patches are merged into the runtime's template, so they stay plain JSON; their schemas are those of
Kubernetes or, for patches, of `patches.py`.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import (
    IMMUTABLE,
    INT32,
    INT64,
    REQUIRED,
    ConditionItem,
    EnvVar,
    LocalObjectReference,
    ResourceRequirements,
    cel,
    doc,
    list_atomic,
    list_map,
    schema,
    shape,
)
from shunter.api.rank_failures import RankFailures
from shunter.api.scheduling.kueue import MANAGED_BY_KUEUE
from shunter.api.trainer.patches import TrainingRuntimeSpecPatch
from shunter.api.trainer.retired import PodSpecOverrides, PodTemplateOverrides

GROUP = "trainer.kubeflow.org"
MANAGED_BY_US = "trainer.kubeflow.org/trainjob-controller"

_Words = tuple[Annotated[str, schema(maxLength=1048576)], ...]


class RuntimeRef(Struct, frozen=True):
    """A TrainingRuntime is one of the job's own namespace; without a `kind` a ClusterTrainingRuntime is meant."""

    name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=253), doc("The runtime.")] = ""
    api_group: Annotated[str, schema(default=GROUP, maxLength=253), doc("Its API group.")] = GROUP
    kind: Annotated[
        str, schema(default="ClusterTrainingRuntime", maxLength=253), doc("TrainingRuntime or ClusterTrainingRuntime.")
    ] = "ClusterTrainingRuntime"


class InitializerSource(Struct, frozen=True):
    """Where a dataset or model comes from."""

    storage_uri: Annotated[
        str | None,
        schema(maxLength=2048),
        cel(
            (
                "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
                "storageUri may be empty, or it must be a valid URI (scheme://...)",
            )
        ),
        doc("URI (SCHEME://...) of what to fetch."),
    ] = None
    env: Annotated[tuple[EnvVar, ...], list_map("name", maxItems=128), doc("Environment of the initializer.")] = ()
    secret_ref: Annotated[LocalObjectReference | None, doc("Secret whose keys become environment variables.")] = None


class Initializer(Struct, frozen=True):
    """For the replicated jobs `dataset-initializer` and `model-initializer`, which the runtime must have for what is asked
    here."""

    dataset: Annotated[InitializerSource | None, doc("The dataset to fetch first.")] = None
    model: Annotated[InitializerSource | None, doc("The model to fetch first.")] = None


class Trainer(Struct, frozen=True):
    """Overrides of the training container. An empty `command` or `args` is not the same as none."""

    image: Annotated[str | None, schema(maxLength=500), doc("Image of the training container.")] = None
    command: Annotated[_Words | None, list_atomic(maxItems=128), doc("Entry point of the training container.")] = None
    args: Annotated[_Words | None, list_atomic(maxItems=128), doc("Arguments of the entry point.")] = None
    env: Annotated[tuple[EnvVar, ...], list_map("name", maxItems=128), doc("Environment of the training container.")] = ()
    num_nodes: Annotated[
        int | None, INT32, doc("Training nodes; the runtime's number when absent. May change while suspended.")
    ] = None
    resources_per_node: Annotated[ResourceRequirements | None, doc("Resources of each training node.")] = None
    num_proc_per_node: Annotated[int | None, INT32, doc("Processes per node; from the node's resources when absent.")] = None


def _unchanged(holder: str, field: str) -> str:
    """The CEL rule that a field of `self` and `oldSelf`, below `holder`, is as it was."""
    new, old = f"self{holder}.{field}", f"oldSelf{holder}.{field}"
    return f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"


TRAINER_UNCHANGED = " && ".join(
    _unchanged("", field.encode_name) for field in msgspec.structs.fields(Trainer) if field.name != "num_nodes"
)
NODES_UNCHANGED = (
    "(has(self.suspend) && self.suspend) || !has(self.trainer) || !has(oldSelf.trainer) || "
    f"({_unchanged('.trainer', 'numNodes')})"
)
"""Upstream's `trainer` is immutable as a whole; here a suspended job may be given another number of nodes."""


class RuntimePatch(Struct, frozen=True):
    """Changes to the runtime's template by one manager. `time` is stamped at admission, in RFC 3339."""

    manager: Annotated[
        str, REQUIRED, schema(minLength=1, maxLength=253), IMMUTABLE, doc("Whose patch this is, e.g. kueue.x-k8s.io/manager.")
    ] = ""
    time: Annotated[str, schema(format="date-time"), doc("When the patch was last changed; set at admission.")] = ""
    training_runtime_spec: Annotated[Json, shape(TrainingRuntimeSpecPatch), doc("Changes to the runtime's spec.")] = {}


class TrainJobSpec(Struct, frozen=True):
    """Immutable but for `suspend`, for `trainer.numNodes` of a suspended job, and for `runtimePatches` of one that is suspended
    before or after the change."""

    runtime_ref: Annotated[RuntimeRef, REQUIRED, IMMUTABLE, doc("The runtime to start from.")] = RuntimeRef()
    initializer: Annotated[Initializer | None, IMMUTABLE, doc("What to fetch before training.")] = None
    trainer: Annotated[Trainer | None, cel((TRAINER_UNCHANGED, "field is immutable")), doc("How to train.")] = None
    runtime_patches: Annotated[
        tuple[RuntimePatch, ...], list_map("manager", maxItems=16), doc("Changes to the runtime for this job.")
    ] = ()
    pod_template_overrides: PodTemplateOverrides = ()
    pod_spec_overrides: PodSpecOverrides = ()
    suspend: Annotated[
        bool | None, schema(default=False), doc("True keeps the job from starting, or stops it until it is false again.")
    ] = None
    active_deadline_seconds: Annotated[
        int | None, INT64, schema(minimum=1), IMMUTABLE, doc("Seconds from creation, or resume, until the job fails.")
    ] = None
    managed_by: Annotated[
        str | None,
        schema(default=MANAGED_BY_US, maxLength=253),
        cel(
            (
                f"self in ['{MANAGED_BY_US}', '{MANAGED_BY_KUEUE}']",
                f"ManagedBy must be {MANAGED_BY_US} or {MANAGED_BY_KUEUE} if set",
            ),
            ("self == oldSelf", "field is immutable"),
        ),
        doc("Who reconciles the job."),
    ] = None


class TrainJobJobStatus(Struct, frozen=True):
    """Jobs of one replicated job, counted by state."""

    name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=253), doc("The replicated job.")] = ""
    ready: Annotated[int, REQUIRED, INT32, schema(minimum=0), doc("Jobs whose pods are all ready or succeeded.")] = 0
    succeeded: Annotated[int, REQUIRED, INT32, schema(minimum=0), doc("Jobs that completed.")] = 0
    failed: Annotated[int, REQUIRED, INT32, schema(minimum=0), doc("Jobs that failed.")] = 0
    active: Annotated[int, REQUIRED, INT32, schema(minimum=0), doc("Jobs with a pod that has not finished.")] = 0
    suspended: Annotated[int, REQUIRED, INT32, schema(minimum=0), doc("Suspended Jobs.")] = 0


class Metric(Struct, frozen=True):
    """The last value alone, as text; nothing demands that it is a number."""

    name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=64), doc("Name of the metric.")] = ""
    value: Annotated[str, REQUIRED, schema(minLength=1, maxLength=64), doc("Its last value.")] = ""


class TrainerStatus(Struct, frozen=True):
    """What the training program itself reports."""

    progress_percentage: Annotated[
        int | None, INT32, schema(minimum=0, maximum=100), doc("How much of the training is done.")
    ] = None
    estimated_remaining_seconds: Annotated[int | None, INT32, schema(minimum=0), doc("Estimated time to the end.")] = None
    metrics: Annotated[tuple[Metric, ...], list_atomic(maxItems=256), doc("Its metrics.")] = ()
    last_updated_time: Annotated[datetime | None, doc("When it last reported.")] = None


class TrainJobStatus(Struct, frozen=True):
    """Without conditions a job has neither ended nor been suspended: there is none for a job that runs."""

    conditions: Annotated[
        tuple[ConditionItem, ...], list_map("type", maxItems=8), doc("Suspended, Complete or Failed; none before.")
    ] = ()
    jobs_status: Annotated[tuple[TrainJobJobStatus, ...], list_map("name", maxItems=100), doc("Jobs by replicated job.")] = ()
    trainer_status: Annotated[
        TrainerStatus | None,
        cel(("has(self.lastUpdatedTime)", "lastUpdatedTime is required when trainerStatus is present")),
        doc("What the training program reports."),
    ] = None
    rank_failures: Annotated[RankFailures | None, doc("What failed, kept after the pods are deleted. Shunter's own field.")] = (
        None
    )


class TrainJob(Struct, frozen=True):
    """One training job, on top of a runtime."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[
        TrainJobSpec,
        cel((NODES_UNCHANGED, "trainer.numNodes can only be modified while the TrainJob is suspended")),
        doc("What to train."),
    ] = TrainJobSpec()
    status: Annotated[TrainJobStatus, schema(minProperties=1), doc("The observed state of the job.")] = TrainJobStatus()
