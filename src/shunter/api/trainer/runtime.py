"""TrainingRuntime and ClusterTrainingRuntime (trainer.kubeflow.org/v1alpha1): the blueprint that TrainJobs refer to.

The template is plain JSON: a TrainJob's settings are merged into it, and what the user wrote there passes through.
"""

from typing import Annotated

from shunter.api.jobset import JOB_SET_SPEC_RULES, JobSetSpec
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, EmbeddedMetadata, cel, doc, list_map, schema, shape
from shunter.api.trainer.retired import TorchProcesses

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
ANCESTOR_TRAINER = "trainer"
DATASET_INITIALIZER = "dataset-initializer"
MODEL_INITIALIZER = "model-initializer"
NODE = "node"
"""The main container of the training nodes, and usually their replicated job."""
LAUNCHER = "launcher"
"""The replicated job of an MPI runtime whose pod runs mpirun."""
HOST_FILE, HOST_FILE_DIRECTORY = "hostfile", "/etc/mpi"
"""The nodes of an MPI job, in mpirun's own form, and where its launcher has them."""
HOST_FILE_SUFFIX = "-mpi-hostfile"
"""Follows the name of the job in that of the ConfigMap that holds them."""
SUPPORT_LABEL = "trainer.kubeflow.org/support"
DEPRECATED = "deprecated"


class EnvInjectionTarget(Struct, frozen=True):
    """Containers beside the training container that get the PET_* variables as well."""

    job_name: Annotated[str, REQUIRED, schema(minLength=1, maxLength=253), doc("A replicated job of the template.")] = ""
    container_names: Annotated[
        tuple[Annotated[str, schema(maxLength=63)], ...],
        REQUIRED,
        schema(**{"minItems": 1, "maxItems": 8, "x-kubernetes-list-type": "set"}),
        cel(
            (
                "!self.exists(name, name == 'node')",
                "containerNames must not include the main node container because PET_* envs are always injected into it",
            )
        ),
        doc("Its containers or init containers."),
    ] = ()


class EnvInjection(Struct, frozen=True):
    """Where the PET_* variables go beside the container `node`, which always has them."""

    targets: Annotated[tuple[EnvInjectionTarget, ...], list_map("jobName", maxItems=16), doc("Where to add them.")] = ()


class TorchPolicy(Struct, frozen=True):
    """Has the operator tell torchrun of the group by PET_* variables. How many processes a node has is the job's to say: here
    nothing but `auto` is accepted."""

    num_proc_per_node: TorchProcesses = None
    env_injection: Annotated[EnvInjection | None, doc("Further containers that get the PET_* variables.")] = None


class MPIPolicy(Struct, frozen=True):
    """Has the operator make SSH keys and a file of hosts. `num_proc_per_node` are the slots of each host where the job says none;
    a 1 gives way to the number of GPUs."""

    num_proc_per_node: Annotated[int | None, INT32, schema(default=1), doc("MPI processes (slots) per node.")] = None
    mpi_implementation: Annotated[str | None, schema(default="OpenMPI", enum=["OpenMPI", ""]), doc("The MPI to set up.")] = None
    ssh_auth_mount_path: Annotated[
        str | None, schema(default="/root/.ssh", maxLength=4096), doc("Where the SSH keys are mounted.")
    ] = None
    run_launcher_as_node: Annotated[bool | None, schema(default=False), doc("Whether the launcher runs training as well.")] = None


class JAXPolicy(Struct, frozen=True):
    """No settings: that it is there tells each node of the group by JAX_* variables."""


class XGBoostPolicy(Struct, frozen=True):
    """No settings: that it is there tells each node by DMLC_* variables where the tracker is, on node 0."""


class FluxPolicy(Struct, frozen=True):
    """Makes one Flux instance of all nodes, which runs the job's command."""

    num_proc_per_node: Annotated[
        int | None,
        INT32,
        schema(default=1),
        cel(("self >= 1", "NumProcPerNode in fluxPolicy must be >= 1")),
        doc("Flux processes per node."),
    ] = None


class MLPolicy(Struct, frozen=True):
    """At most one framework, as the schema demands; without one the nodes get no variables about each other."""

    num_nodes: Annotated[int | None, INT32, doc("Training nodes when the TrainJob does not say. 1 by default.")] = None
    torch: Annotated[TorchPolicy | None, doc("Set up torchrun.")] = None
    mpi: Annotated[MPIPolicy | None, doc("Set up mpirun over SSH.")] = None
    jax: Annotated[JAXPolicy | None, doc("Set up JAX's distributed runtime.")] = None
    xgboost: Annotated[XGBoostPolicy | None, doc("Set up XGBoost's tracker.")] = None
    flux: Annotated[FluxPolicy | None, doc("Set up a Flux instance.")] = None


class CoschedulingPolicy(Struct, frozen=True):
    """For a PodGroup of scheduler-plugins, whose scheduler the runtime's pods must name themselves; seconds, 60 by default."""

    schedule_timeout_seconds: Annotated[
        int | None, INT32, schema(default=60), doc("How long the scheduler waits for all pods.")
    ] = None


class NetworkTopology(Struct, frozen=True):
    """In the tiers of Volcano's HyperNodes: `hard` leaves pods unplaced rather than further apart than the tier allowed, `soft`
    only prefers it. The name of a tier goes before its number."""

    mode: Annotated[str, schema(default="hard", enum=["hard", "soft"]), doc("Whether highestTierAllowed must be kept.")] = "hard"
    highest_tier_allowed: Annotated[int | None, schema(default=1), doc("How far apart pods may be placed.")] = None
    highest_tier_name: Annotated[str, doc("The same, by name of the tier.")] = ""


class VolcanoPolicy(Struct, frozen=True):
    """For a PodGroup of Volcano, whose scheduler the runtime's pods must name themselves; its queue is an annotation of the
    template."""

    network_topology: Annotated[NetworkTopology | None, doc("How close pods must be placed.")] = None


class PodGroupPolicy(Struct, frozen=True):
    """Which gang scheduler places all pods of a job together; the pods' own `schedulerName` says who places them."""

    coscheduling: Annotated[CoschedulingPolicy | None, doc("Use the coscheduling plugin of scheduler-plugins.")] = None
    volcano: Annotated[VolcanoPolicy | None, doc("Use Volcano.")] = None


class JobSetTemplate(Struct, frozen=True):
    """The schema of a runtime's template."""

    metadata: Annotated[EmbeddedMetadata, doc("Labels and annotations of the JobSet.")] = {}
    spec: Annotated[JobSetSpec, JOB_SET_SPEC_RULES, doc("The JobSet before a TrainJob's settings.")] = JobSetSpec()


class TrainingRuntimeSpec(Struct, frozen=True):
    """`template` is plain JSON, whose schema is that of JobSetTemplate: no default of that type is filled in when it is read."""

    ml_policy: Annotated[
        MLPolicy | None,
        cel(
            (
                "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux)].filter(x, x).size() <= 1",
                "Only one of the policy can be configured",
            )
        ),
        doc("The framework and the number of nodes."),
    ] = None
    pod_group_policy: Annotated[PodGroupPolicy | None, doc("Gang scheduling; none when absent.")] = None
    template: Annotated[Json, shape(JobSetTemplate), schema(minProperties=1), doc("The JobSet to create.")] = {}


class TrainingRuntime(Struct, frozen=True):
    """A blueprint of training jobs in one namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TrainingRuntimeSpec, schema(minProperties=1), doc("The settings of the runtime.")] = TrainingRuntimeSpec()


class ClusterTrainingRuntime(TrainingRuntime, frozen=True):
    """A blueprint of training jobs for all namespaces."""
