"""The runtime that a program starts from, and what starts a program there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from shunter.api.formats.counts import count
from shunter.api.jobset import longest_name, replicas_and_pods
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, LAUNCHER, NODE
from shunter.api.trainer.trainjob import GROUP
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.launch.options import LaunchOptions

FRAMEWORK_LABEL = "trainer.kubeflow.org/framework"
DEFAULTS = ("shunter-torch", "torch-distributed")
"""Taken in this order where no runtime is named."""
TORCHRUN = "torchrun"
PYTHON = "python"
MPIRUN = "mpirun"
LAUNCHERS: Mapping[str, str] = {"torch": TORCHRUN, "jax": PYTHON, "xgboost": PYTHON, "deepspeed": MPIRUN, "mlx": MPIRUN}
"""What starts a program, by the framework of its runtime. torchrun and python do so on each node, mpirun on all from one."""
OWN_WAYS: Mapping[str, str] = {
    "flux": "starts the command with Flux, which `run` does not support",
    "torchtune": "runs recipes of torchtune (tune run), not programs; examples/recipes/finetune.py trains LoRA without it",
}
"""Why `run` starts no program with a runtime of this framework."""
NOT_EMBEDDED: Mapping[str, str] = {
    "flux-distributed": "Flux comes from a separate image (FLUX_VIEW_IMAGE), and pods here are processes without images",
    "torch-distributed-with-cache": "its data cache is a service of upstream's that has an image and a service account "
    "(kubeflow-trainer-cache-initializer), which the embedded cluster does not have",
    **dict.fromkeys(
        ("torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b"),
        "it requests 2 GPUs and 20 GiB, downloads a model, and torchtune's development has ended; "
        "examples/recipes/finetune.py trains LoRA with torch-distributed",
    ),
}
"""Shipped runtimes that do not train on the embedded cluster, and why. All others do, as tests show."""


@dataclasses.dataclass(frozen=True)
class Runtime:
    """A ClusterTrainingRuntime or TrainingRuntime, and the framework that its label names."""

    name: str
    framework: str
    kind: str = CLUSTER_TRAINING_RUNTIMES.kind
    spec: Json = dataclasses.field(default_factory=dict, compare=False)
    """Needed for a job that gets a runtime of its own, and to know how long its name may be."""

    @property
    def reference(self) -> Json:
        """A TrainJob's `runtimeRef` to it."""
        return {"name": self.name, "apiGroup": GROUP, "kind": self.kind}

    @property
    def object(self) -> Json:
        """What a copy of it is made from."""
        labels = {FRAMEWORK_LABEL: self.framework}
        return {"kind": self.kind, "metadata": {"name": self.name, "labels": labels}, "spec": self.spec}

    @property
    def launcher(self) -> str:
        """`torchrun`, `python` or `mpirun`; InputError for a runtime in which a program cannot be started so."""
        if self.framework in LAUNCHERS:
            return LAUNCHERS[self.framework]
        found = f"is for {self.framework}" if self.framework else f"has no label {FRAMEWORK_LABEL}"
        if self.framework in OWN_WAYS:
            found = OWN_WAYS[self.framework]
        raise InputError(
            f"--runtime {self.name}: this {self.kind} {found}; run starts programs with runtimes for {', '.join(LAUNCHERS)}.",
            "Use another runtime, or write a TrainJob and run it: shunter run job.yaml",
        )


def of_object(found: Json, kind: str = CLUSTER_TRAINING_RUNTIMES.kind) -> Runtime:
    """A runtime by its object."""
    metadata = found["metadata"]
    return Runtime(metadata["name"], (metadata.get("labels") or {}).get(FRAMEWORK_LABEL, ""), kind, found["spec"])


async def find_runtime(client: Client, namespace: str, name: str = "", *, option: str = "--runtime") -> Runtime:
    """The runtime of this name, of the namespace or else of the cluster; without a name the first of DEFAULTS that there is.
    InputError when there is none, naming what is close."""
    for candidate in [name] if name else DEFAULTS:
        for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES) if name else (CLUSTER_TRAINING_RUNTIMES,):
            try:
                return of_object(await client.get(resource, candidate, namespace if resource.namespaced else ""), resource.kind)
            except NotFound:
                continue
    if not name:
        raise InputError(
            f"the cluster has no runtime {' or '.join(DEFAULTS)}.",
            f"Install them with: shunter install; or name one with {option}.",
        )
    try:
        present = sorted(item["metadata"]["name"] for item in (await client.list(CLUSTER_TRAINING_RUNTIMES)).items)
    except NotFound:
        present = []
    known = f"There are: {', '.join(present) or 'none; install them with shunter install'}."
    raise InputError(f"{option} {name}: no such runtime.", did_you_mean(nearest(name, present), known))


async def runtime_of_job(client: Client, job: Json) -> Runtime | None:
    """The runtime that a TrainJob names, as it is now; None where there is none or it may not be read."""
    reference = job["spec"]["runtimeRef"]
    resource = TRAINING_RUNTIMES if reference.get("kind") == TRAINING_RUNTIMES.kind else CLUSTER_TRAINING_RUNTIMES
    namespace = job["metadata"]["namespace"] if resource.namespaced else ""
    try:
        found = await client.find(resource, reference["name"], namespace)
    except Forbidden:
        return None
    return of_object(found, resource.kind) if found is not None else None


def require_embedded(runtime: Runtime) -> None:
    """InputError for a shipped runtime that cannot train on the embedded cluster."""
    if runtime.kind == CLUSTER_TRAINING_RUNTIMES.kind and (why := NOT_EMBEDDED.get(runtime.name)):
        raise InputError(
            f"--runtime {runtime.name} does not train on the embedded cluster: {why}.",
            "Use another runtime, or another cluster: --context NAME.",
        )


def require_startable(runtime: Runtime, options: LaunchOptions) -> None:
    """InputError for what the runtime cannot do: python starts one process a node, a TrainJob cannot choose the image of mpirun's
    nodes, and variables that torchrun sets for each process would be ignored; and for a name that is too long for its pods."""
    if runtime.launcher == MPIRUN and options.image:
        raise InputError(
            f"--image {options.image}: a TrainJob sets the image of the pod with mpirun only, and the other nodes of runtime "
            f"{runtime.name} would keep theirs.",
            "Copy the runtime, set the image in the copy, and use it with --runtime.",
        )
    if runtime.launcher == MPIRUN and options.fabric:
        raise InputError(
            f"--fabric: its variables would not reach the processes that mpirun starts for runtime {runtime.name}.",
            "Write a TrainJob that passes them on: mpirun -x NAME.",
        )
    require_name_fits(runtime, options.name, options.nodes)
    ignored = next((variable["name"] for variable in options.environment if variable["name"] in RANK_VARIABLES), "")
    if runtime.launcher == TORCHRUN and ignored:
        raise InputError(
            f"--env {ignored}: runtime {runtime.name} sets it for each process, and the program would not see this value.",
            "Leave it out; --nodes and --procs set the number of processes.",
        )
    if runtime.launcher != PYTHON:
        return
    if options.procs not in (None, 1):
        raise InputError(
            f"--procs {options.procs}: runtime {runtime.name} starts one process per node.",
            "Leave --procs out, use more --nodes.",
        )
    if runtime.framework == "xgboost" and options.gpus > 1:
        raise InputError(
            f"--gpus {options.gpus}: runtime {runtime.name} expects a worker for each GPU, and run starts one per node.",
            "Use --gpus 1 and more --nodes.",
        )


def require_name_fits(runtime: Runtime, name: str, nodes: int) -> None:
    """InputError for a name that is too long for the pods of a job with so many nodes."""
    if len(name) > (most := longest_job_name(runtime, nodes)):
        raise InputError(
            f"--name {name!r} has {len(name)} characters; pod names contain it, and those of {count(nodes, 'node')} of runtime "
            f"{runtime.name} leave it at most {most}.",
            f"Name the job with --name, in at most {most} characters.",
        )


def require_rerun_fits(runtime: Runtime | None, job: Json, name: str) -> None:
    """InputError for a name that is too long for a TrainJob with the spec of this one and its `runtime_of_job`."""
    if runtime is not None:
        require_name_fits(runtime, name, nodes_of(job, runtime.object))


def nodes_of(job: Json, runtime: Json) -> int:
    """On how many nodes a TrainJob trains: its own number, else that of its runtime."""
    trainer, policy = (job.get("spec") or {}).get("trainer") or {}, (runtime.get("spec") or {}).get("mlPolicy") or {}
    return int(trainer.get("numNodes") or policy.get("numNodes") or 1)


def longest_job_name(runtime: Runtime, nodes: int) -> int:
    """How long the name of a job with so many nodes may be, for the names of its pods to fit; of an MPI job with a launcher that
    is a node possibly one character less."""
    parts = []
    for one in templates.replicated_jobs(runtime.spec.get("template") or {}):
        trains = one["name"] == NODE or (one["name"] != LAUNCHER and templates.ancestor(one) == ANCESTOR_TRAINER)
        replicas, pods = replicas_and_pods(one)
        parts.append((str(one["name"]), replicas, nodes if trains else pods))
    return longest_name(parts)


def is_rank_by_itself(runtime: Runtime, options: LaunchOptions) -> bool:
    """Whether a node's only process is started by python, with the variables that torchrun would give it (`RANK_VARIABLES`).
    torchrun would import torch first, and the process once more: seconds of each start, and of each restart. Who sets an option
    of torchrun by its variable (PET_MAX_RESTARTS) gets torchrun."""
    has_options = any(variable["name"].startswith("PET_") for variable in options.environment)
    return runtime.launcher == TORCHRUN and options.processes == 1 and not has_options


RANK_VARIABLES: Mapping[str, str] = {
    "RANK": "${PET_NODE_RANK:-0}",
    "WORLD_SIZE": "${PET_NNODES:-1}",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "${PET_NODE_RANK:-0}",
    "GROUP_WORLD_SIZE": "${PET_NNODES:-1}",
    "MASTER_ADDR": "${PET_MASTER_ADDR:-localhost}",
    "MASTER_PORT": "${PET_MASTER_PORT:-29500}",
}
"""What torchrun tells its only process on a node, as the shell makes it of what the operator tells torchrun."""


_TORCHRUN = """\
import sys
del sys.path[0]
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main
try:
    main()
except ChildFailedError as error:
    if any(process.exitcode == 2 for process in error.failures.values()):
        sys.exit(2)
    raise
"""
"""torchrun, except that it ends with 2 where one of its processes does, which means wrong input (docs/training/runtime.md).
What it imports must not come from the directory of the program, which `python -c` looks into first."""


def start_command(runtime: Runtime, options: LaunchOptions) -> list[str]:
    """The words that start the program in each node, or with mpirun in each process, without its own arguments. torchrun reads a
    program's `--log` as its own `--log-dir` unless `--` stands before."""
    program = options.program
    # Python would take a script's leading dash for an option of its own.
    path = f"./{program.path}" if program.path.startswith("-") else program.path
    if runtime.launcher == TORCHRUN and not is_rank_by_itself(runtime, options):
        torchrun = [PYTHON, "-c", _TORCHRUN]
        return [*torchrun, "-m", "--", program.module] if program.module else [*torchrun, "--", path]
    return [PYTHON, "-m", program.module] if program.module else [PYTHON, path]
