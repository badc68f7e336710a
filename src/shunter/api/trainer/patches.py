"""The schema of `spec.runtimePatches[].trainingRuntimeSpec` of a TrainJob: the parts of a runtime that one job may change.

Nothing decodes these: patches are merged as JSON. What may not change after creation says so by a transition rule, which the API
server checks for entries of the same manager, replicated job and container.
"""

from typing import Annotated

from shunter.api.meta import Json, Struct
from shunter.api.openapi import IMMUTABLE, INT64, REQUIRED, EmbeddedMetadata, EnvVar, builtin, doc, list_atomic, list_map, schema

_CORE = "io.k8s.api.core.v1."


class ContainerPatch(Struct, frozen=True):
    """Neither image nor command nor resources: those of the training container are for `spec.trainer`."""

    name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=253), doc("The container to change.")] = ""
    env: Annotated[tuple[EnvVar, ...], list_map("name", maxItems=128), doc("Environment to add.")] = ()
    volume_mounts: Annotated[
        tuple[Annotated[Json, builtin(_CORE + "VolumeMount")], ...], list_map("name", maxItems=128), doc("Mounts to add.")
    ] = ()
    security_context: Annotated[Json, builtin(_CORE + "SecurityContext"), doc("Its security context.")] = {}


class PodSpecPatch(Struct, frozen=True):
    """What was set stays as it is, but for where and when pods are placed: node selector, affinity, tolerations and gates."""

    service_account_name: Annotated[str, schema(maxLength=253), IMMUTABLE, doc("Service account of the pods.")] = ""
    volumes: Annotated[
        tuple[Annotated[Json, builtin(_CORE + "Volume")], ...], list_map("name", maxItems=128), IMMUTABLE, doc("Volumes to add.")
    ] = ()
    init_containers: Annotated[
        tuple[ContainerPatch, ...], list_map("name", maxItems=64), IMMUTABLE, doc("Changes to init containers.")
    ] = ()
    containers: Annotated[
        tuple[ContainerPatch, ...], list_map("name", maxItems=64), IMMUTABLE, doc("Changes to containers.")
    ] = ()
    image_pull_secrets: Annotated[
        tuple[Annotated[Json, builtin(_CORE + "LocalObjectReference")], ...],
        list_map("name", maxItems=64),
        IMMUTABLE,
        doc("Secrets to pull images with."),
    ] = ()
    security_context: Annotated[Json, builtin(_CORE + "PodSecurityContext"), IMMUTABLE, doc("Security context of the pods.")] = {}
    node_selector: Annotated[dict[str, str], doc("Node labels to require.")] = {}
    affinity: Annotated[Json, builtin(_CORE + "Affinity"), doc("Scheduling constraints of the pods.")] = {}
    tolerations: Annotated[
        tuple[Annotated[Json, builtin(_CORE + "Toleration")], ...], list_atomic(maxItems=128), doc("Taints to tolerate.")
    ] = ()
    scheduling_gates: Annotated[
        tuple[Annotated[Json, builtin(_CORE + "PodSchedulingGate")], ...],
        list_map("name", maxItems=16),
        doc("Scheduling gates of the pods."),
    ] = ()
    termination_grace_period_seconds: Annotated[
        int | None, INT64, schema(minimum=0), IMMUTABLE, doc("Seconds the pods have to stop.")
    ] = None


class PodTemplatePatch(Struct, frozen=True):
    """Changes to the pods of each Job of the replicated job."""

    metadata: Annotated[EmbeddedMetadata, doc("Labels and annotations of the pods.")] = {}
    spec: Annotated[PodSpecPatch, doc("Changes to the pods.")] = PodSpecPatch()


class JobSpecPatch(Struct, frozen=True):
    """A patch of a Job's spec: only its pods, not its parallelism or limits."""

    template: Annotated[PodTemplatePatch, doc("Changes to the pod template.")] = PodTemplatePatch()


class JobTemplatePatch(Struct, frozen=True):
    """`metadata` is that of the Jobs; that of their pods stands further in, at `spec.template`."""

    metadata: Annotated[EmbeddedMetadata, doc("Labels and annotations of the Jobs.")] = {}
    spec: Annotated[JobSpecPatch, doc("Changes to the Jobs.")] = JobSpecPatch()


class ReplicatedJobPatch(Struct, frozen=True):
    """For one replicated job, which the runtime must have: admission refuses another name."""

    name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=253), doc("The replicated job to change.")] = ""
    template: Annotated[JobTemplatePatch, doc("Changes to its Jobs.")] = JobTemplatePatch()


class JobSetSpecPatch(Struct, frozen=True):
    """Replicated jobs that are not named stay as the runtime has them, and so do the policies and the network."""

    replicated_jobs: Annotated[
        tuple[ReplicatedJobPatch, ...], list_map("name", maxItems=100), doc("Changes to replicated jobs.")
    ] = ()


class JobSetTemplatePatch(Struct, frozen=True):
    """`metadata` is that of the JobSet; its Jobs and their pods have their own further in."""

    metadata: Annotated[EmbeddedMetadata, doc("Labels and annotations of the JobSet.")] = {}
    spec: Annotated[JobSetSpecPatch, doc("Changes to the JobSet.")] = JobSetSpecPatch()


class TrainingRuntimeSpecPatch(Struct, frozen=True):
    """A patch of a runtime's spec: only its template, not its framework or gang scheduling."""

    template: Annotated[JobSetTemplatePatch, doc("Changes to the runtime's template.")] = JobSetTemplatePatch()
