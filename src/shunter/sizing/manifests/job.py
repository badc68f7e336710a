"""The job: a TrainJob, or a PyTorchJob of kubeflow.org/v1. Pure.

The job has no command, so that of the image runs; `shunter run train.py --nodes N --gpus M` writes a job with a program.
"""

from __future__ import annotations

from typing import Any

from shunter.api.jobset import longest_name
from shunter.api.meta import Json
from shunter.api.names import LONGEST_LABEL
from shunter.api.resources import TRAIN_JOBS
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.scheduling.pod_requests import GPU
from shunter.api.trainer.runtime import NODE
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.fabrics import INSTANCE_LABEL, profiles
from shunter.sizing.fits import MachineChoice
from shunter.sizing.manifests.placeholders import Placeholders
from shunter.sizing.manifests.requests import efa_count, pod_resources
from shunter.sizing.options import JobApi, ManifestOptions

MANAGER = "shunter.dev/size"
"""The manager of our runtime patch."""
RUNTIME = "torch-distributed"
DO_NOT_DISRUPT = {"karpenter.sh/do-not-disrupt": "true"}
"""Keeps Karpenter from moving pods to pack nodes better: a training that loses one rank loses all."""


def longest_job_name(api: JobApi, nodes: int) -> int:
    """How long the name of such a job may be: names of its pods (`NAME-node-0-3` and a random end), or of the services of a
    PyTorchJob (`NAME-worker-2`), contain it."""
    if api == "trainjob":
        return longest_name([(NODE, 1, nodes)])
    last = f"-worker-{nodes - 2}" if nodes > 1 else "-master-0"
    return LONGEST_LABEL - max(len(last), len("-master-0"))


def train_job(choice: MachineChoice, options: ManifestOptions, placeholders: Placeholders) -> Json:
    """A TrainJob of the runtime torch-distributed, with one pod a machine and one process a GPU."""
    job = TRAIN_JOBS.typed({"metadata": _metadata(options)})
    pods: Json = {"metadata": {"annotations": dict(DO_NOT_DISRUPT)}, "spec": _placement(choice)}
    if shared := _shared_memory(choice):
        pods["spec"] |= {"volumes": shared["volumes"], "containers": [{"name": NODE, "volumeMounts": shared["mounts"]}]}
    replicated = [{"name": NODE, "template": {"spec": {"template": pods}}}]
    job["spec"] = {
        "runtimeRef": {"name": RUNTIME},
        "trainer": {
            "image": placeholders.filled(job, "spec.trainer.image", "--image", options.image),
            "numNodes": choice.nodes,
            "numProcPerNode": choice.instance.gpus,
            "resourcesPerNode": pod_resources(choice),
            **_environment(choice),
        },
        "runtimePatches": [
            {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}}},
        ],
    }
    return job


def v1_job(choice: MachineChoice, options: ManifestOptions, placeholders: Placeholders) -> Json:
    """A PyTorchJob with one pod a machine, the first as Master, and one process a GPU."""
    job = PYTORCH_JOBS.typed({"metadata": _metadata(options)})
    container: Json = {
        "name": "pytorch",
        "image": placeholders.filled(
            job, "spec.pytorchReplicaSpecs.*.template.spec.containers[0].image", "--image", options.image
        ),
        "resources": pod_resources(choice),
        **_environment(choice),
    }
    spec: Json = {**_placement(choice), "containers": [container]}
    if shared := _shared_memory(choice):
        container["volumeMounts"], spec["volumes"] = shared["mounts"], shared["volumes"]
    template = {"metadata": {"annotations": dict(DO_NOT_DISRUPT)}, "spec": spec}
    replicas: Json = {"Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template}}
    if choice.nodes > 1:
        replicas["Worker"] = {"replicas": choice.nodes - 1, "restartPolicy": "OnFailure", "template": template}
    job["spec"] = {"nprocPerNode": str(choice.instance.gpus), "pytorchReplicaSpecs": replicas}
    return job


def _metadata(options: ManifestOptions) -> Json:
    labels = {"labels": {QUEUE_LABEL: options.name}} if options.kueue else {}
    return {"name": options.name, "namespace": options.namespace, **labels}


def _placement(choice: MachineChoice) -> Json:
    """The placement of the pods. Nodes of a cluster without instance type are selected only by their GPUs."""
    placed: Json = {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}
    if choice.instance.is_type:
        placed["nodeSelector"] = {INSTANCE_LABEL: choice.instance.name}
    return placed


def _environment(choice: MachineChoice) -> Json:
    """`env` with the variables of EFA if it is used: without them NCCL would use TCP."""
    if not efa_count(choice):
        return {}
    return {"env": [{"name": variable.name, "value": variable.value} for variable in profiles()["efa"].environment]}


def _shared_memory(choice: MachineChoice) -> dict[str, Any]:
    """Shared memory for the ranks of a machine: a container's own is 64 MiB."""
    if choice.instance.gpus == 1 and choice.nodes == 1:
        return {}
    volume = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    return {"volumes": [volume], "mounts": [{"name": "shm", "mountPath": "/dev/shm"}]}
