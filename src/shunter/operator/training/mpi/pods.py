"""The pods of an MPIJob: workers that sleep until mpirun comes, and the launcher in which it runs."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.pod_security import restrictions
from shunter.api.training.mpi import DELIVERY_CONTAINER, LAUNCHER, WORKER
from shunter.operator.training.mpi.names import (
    Job,
    config_map_name,
    is_gpu_launcher,
    launcher_name,
    service_account_name,
    worker_name,
)
from shunter.operator.training.mpi.objects import DISCOVER_HOSTS, HOSTFILE, KUBEXEC
from shunter.operator.training.names import JOB_ROLE, MASTER_ROLE, replica_labels, replica_type_labels
from shunter.operator.training.replicas import pod_restart_policy

CONFIG = "mpi-job-config"
CONFIG_PATH = "/etc/mpi"
DELIVERY = "mpi-job-kubectl"
DELIVERY_PATH = "/opt/kube"
KUBECTL_DELIVERY_IMAGE = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"
"""Its container puts a program at `$TARGET_DIR/kubectl`."""

_DELIVERY_RESOURCES = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
_EXECUTABLE = 0o555
_READABLE = 0o444


def worker(job: Job, index: int) -> Json:
    """One worker; a first container without a command sleeps for a year, whatever its arguments."""
    spec = _spec(job, WORKER)
    first, *others = spec["containers"]
    idle: Json = {} if first.get("command") else {"command": ["sleep"], "args": ["365d"]}
    first = {**first, **idle, "volumeMounts": [*(first.get("volumeMounts") or []), _mount(CONFIG, CONFIG_PATH)]}
    volumes = [*(spec.get("volumes") or []), _config_volume(job, {KUBEXEC: _EXECUTABLE})]
    return _pod(
        job,
        WORKER,
        worker_name(job, index),
        replica_labels(job, WORKER, index),
        {**spec, "containers": [first, *others], "volumes": volumes},
    )


def launcher(job: Job, kubectl_delivery_image: str) -> Json:
    """The launcher: what it needs for mpirun goes into its first container."""
    spec = _spec(job, LAUNCHER)
    first, *others = spec["containers"]
    mounts = [_mount(DELIVERY, DELIVERY_PATH), _mount(CONFIG, CONFIG_PATH)]
    first = {
        **first,
        "env": [*(first.get("env") or []), *launcher_environment(job)],
        "volumeMounts": [*(first.get("volumeMounts") or []), *mounts],
    }
    files = {KUBEXEC: _EXECUTABLE, HOSTFILE: _READABLE, DISCOVER_HOSTS: _EXECUTABLE}
    volumes = [*(spec.get("volumes") or []), {"name": DELIVERY, "emptyDir": {}}, _config_volume(job, files)]
    delivery = {**restrictions(first), **_delivery(job, kubectl_delivery_image, mounts)}
    init_containers = [*(spec.get("initContainers") or []), delivery]
    return _pod(
        job,
        LAUNCHER,
        launcher_name(job),
        {**replica_type_labels(job, LAUNCHER), JOB_ROLE: MASTER_ROLE},
        {
            **spec,
            "serviceAccountName": service_account_name(job),
            "initContainers": init_containers,
            "containers": [first, *others],
            "volumes": volumes,
        },
    )


def launcher_environment(job: Job) -> list[Json]:
    """How Open MPI and Intel MPI reach their hosts. A launcher that does not train sees no GPUs."""
    containers = (job.replicas[LAUNCHER].template.get("spec") or {}).get("containers") or [{}]
    named_by_user = {variable.get("name") for variable in containers[0].get("env") or []}
    script = f"{CONFIG_PATH}/{KUBEXEC}"
    variables: list[Json] = [
        {"name": "OMPI_MCA_plm_rsh_agent", "value": script},
        {"name": "OMPI_MCA_orte_default_hostfile", "value": f"{CONFIG_PATH}/{HOSTFILE}"},
    ]
    if not is_gpu_launcher(job):
        variables += [{"name": "NVIDIA_VISIBLE_DEVICES"}, {"name": "NVIDIA_DRIVER_CAPABILITIES"}]
    intel: list[Json] = [
        {"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "rsh"},
        {"name": "I_MPI_HYDRA_BOOTSTRAP_EXEC", "value": script},
    ]
    return [*variables, *(variable for variable in intel if variable["name"] not in named_by_user)]


def _delivery(job: Job, image: str, mounts: list[Json]) -> Json:
    return {
        "name": DELIVERY_CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": DELIVERY_PATH}, {"name": "NAMESPACE", "value": job.namespace}],
        "resources": {"limits": _DELIVERY_RESOURCES, "requests": _DELIVERY_RESOURCES},
        "volumeMounts": mounts,
    }


def _config_volume(job: Job, files: dict[str, int]) -> Json:
    items = [{"key": name, "path": name, "mode": mode} for name, mode in files.items()]
    return {"name": CONFIG, "configMap": {"name": config_map_name(job), "items": items}}


def _mount(volume: str, path: str) -> Json:
    return {"name": volume, "mountPath": path}


def _spec(job: Job, role: str) -> Json:
    template = job.replicas[role].template.get("spec") or {}
    return {**template, "restartPolicy": pod_restart_policy(job.replicas[role].restart_policy)}


def _pod(job: Job, role: str, name: str, labels: dict[str, str], spec: Json) -> Json:
    """Labels and annotations of the template, none of its finalizers (as upstream)."""
    template = job.replicas[role].template.get("metadata") or {}
    metadata: Json = {
        "name": name,
        "namespace": job.namespace,
        "labels": {**(template.get("labels") or {}), **labels},
        "ownerReferences": [job.owner_reference],
    }
    if template.get("annotations"):
        metadata["annotations"] = template["annotations"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
