"""MPI: the launcher starts the processes of all nodes over SSH, with keys and a list of hosts of the job's own.

Replicated jobs are known by their names here: `launcher` runs mpirun, `node` the SSH servers.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping

from shunter.api.batch import MOST_PODS
from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, SECRETS
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import HOST_FILE, HOST_FILE_DIRECTORY, HOST_FILE_SUFFIX, LAUNCHER, NODE, MPIPolicy
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.trainer.validation import reserved_environment_errors
from shunter.operator.trainer.model import BuildError, Model, PodSet
from shunter.operator.trainer.plugin import AdmissionContext, Companion, Plugin
from shunter.operator.trainer.plugins.ssh_keys import key_pair
from shunter.operator.trainer.rendezvous import counted_resources
from shunter.operator.trainer.resources import gpu_count
from shunter.operator.trainer.upserts import upsert_env, upsert_mounts, upsert_volumes

OPEN_MPI = "OpenMPI"
KEYS_VOLUME, HOST_FILE_VOLUME = "mpi-ssh-auth", "mpi-hostfile"
KEYS = Companion(SECRETS, "-mpi-ssh-auth")
HOSTS = Companion(CONFIG_MAPS, HOST_FILE_SUFFIX)
PRIVATE_KEY, PUBLIC_KEY = "ssh-privatekey", "ssh-publickey"

OPEN_MPI_HOST_FILE = "OMPI_MCA_orte_default_hostfile"
OPEN_MPI_ENVIRONMENT = (
    OPEN_MPI_HOST_FILE,
    "OMPI_MCA_plm_rsh_args",
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots",
)
"""What the plugin sets, so what users must not."""


class MPI(Plugin):
    """Acts where the runtime has `mlPolicy.mpi`. Open MPI alone is served."""

    companions = (HOSTS, KEYS)

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes, one less (but at least 1) where the launcher trains too; mounts the keys in nodes and
        launcher, the host file in the launcher. BuildError for another implementation than Open MPI, and for more than MOST_PODS
        hosts."""
        policy = model.policy.mpi if model.policy else None
        if policy is None:
            return
        if policy.mpi_implementation not in (None, OPEN_MPI):
            raise BuildError(
                f"MPI implementation for {policy.mpi_implementation!r} doesn't supported",
                f"Set spec.mlPolicy.mpi.mpiImplementation of the runtime to {OPEN_MPI}.",
            )
        nodes = model.pod_set(NODE)
        desired = model.job.spec.trainer.num_nodes if model.job.spec.trainer else None
        if nodes is not None and desired is not None:
            nodes.count = max(desired - 1, 1) if model.is_launcher_node else desired
        # Their names are written into one file; for other jobs numbers are the business of who makes the pods.
        if (count := sum(pods.replicas * pods.count for pods in _training(model))) > MOST_PODS:
            raise BuildError(
                f"an MPI job of {count} pods: there must not be more than {MOST_PODS}",
                "Lower spec.trainer.numNodes of the job, or spec.mlPolicy.numNodes and replicas of the runtime.",
            )
        for pods in model.pod_sets:
            if pods.name in (NODE, LAUNCHER):
                _add_keys(model.job, pods, policy)
            if pods.name == LAUNCHER:
                _add_hosts(model, pods)

    def objects(self, model: Model) -> list[Json]:
        """The ConfigMap with the host file: `NAME.SUBDOMAIN slots=N` for each pod that trains, running or not."""
        if model.policy is None or model.policy.mpi is None:
            return []
        processes = slots(model)
        hosts = [f"{address} slots={processes}\n" for pods in _training(model) for address in endpoints(model, pods)]
        return [HOSTS.object(model.job, data={HOST_FILE: "".join(hosts)})]

    def secrets(self, model: Model) -> Mapping[Companion, Callable[[bytes], Json]]:
        """The pair of SSH keys of this job."""
        if model.policy is None or model.policy.mpi is None:
            return {}
        return {KEYS: lambda randomness: keys_secret(model.job, randomness)}

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """Variables that are the plugin's, more than MOST_PODS nodes, and, where the launcher is to train, more than one node in
        a runtime that lacks `launcher` or `node`."""
        policy = context.policy.mpi if context.policy else None
        if policy is None:
            return []
        faults = reserved_environment_errors(context.job, OPEN_MPI_ENVIRONMENT)
        trainer = context.job.spec.trainer
        nodes = trainer.num_nodes if trainer else None
        if nodes is not None and nodes > MOST_PODS:
            faults.insert(0, invalid("spec.trainer.numNodes", nodes, f"must not be more than {MOST_PODS}"))
        lacks_jobs = any(templates.replicated_job(context.template, name) is None for name in (LAUNCHER, NODE))
        if nodes is not None and nodes > 1 and policy.run_launcher_as_node and lacks_jobs:
            detail = "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node"
            faults.insert(0, invalid("spec.trainer.numNodes", nodes, detail))
        return faults


def slots(model: Model) -> int:
    """Processes a node: the job's number; else the runtime's, or one for each GPU where the runtime says 1."""
    policy = model.policy.mpi if model.policy else None
    assert policy is not None
    trainer = model.job.spec.trainer
    if trainer is not None and trainer.num_proc_per_node is not None:
        return trainer.num_proc_per_node
    processes = 1 if policy.num_proc_per_node is None else policy.num_proc_per_node
    gpus = gpu_count(counted_resources(model.job, model.template))
    return gpus if processes == 1 and gpus > 1 else processes


def endpoints(model: Model, pods: PodSet) -> Iterable[str]:
    """The names under which the pods of a replicated job are reached."""
    job = model.job.metadata.name
    subdomain = (model.spec.get("network") or {}).get("subdomain") or job
    for replica in range(pods.replicas):
        for index in range(pods.count):
            yield f"{job}-{pods.name}-{replica}-{index}.{subdomain}"


def keys_secret(job: TrainJob, randomness: bytes) -> Json:
    """The job's SSH keys. Anyone on a node may reach all others with them, so every job has its own."""
    private, public = key_pair(randomness)
    data = {name: base64.b64encode(text).decode() for name, text in ((PRIVATE_KEY, private), (PUBLIC_KEY, public))}
    return KEYS.object(job, type="kubernetes.io/ssh-auth", immutable=True, data=data)


def _training(model: Model) -> list[PodSet]:
    names = (NODE, LAUNCHER) if model.is_launcher_node else (NODE,)
    return [pods for pods in model.pod_sets if pods.name in names]


def _add_keys(job: TrainJob, pods: PodSet, policy: MPIPolicy) -> None:
    items = [
        {"key": PRIVATE_KEY, "path": "id_rsa", "mode": 0o640},
        {"key": PUBLIC_KEY, "path": "id_rsa.pub", "mode": 0o644},
        {"key": PUBLIC_KEY, "path": "authorized_keys", "mode": 0o644},
    ]
    secret = {"secretName": KEYS.name(job), "defaultMode": 0o400, "items": items}
    upsert_volumes(pods.volumes, [{"name": KEYS_VOLUME, "secret": secret}])
    container = pods.container(NODE)
    if container is not None:
        upsert_mounts(container, [{"name": KEYS_VOLUME, "mountPath": policy.ssh_auth_mount_path or "/root/.ssh"}])


def _add_hosts(model: Model, pods: PodSet) -> None:
    items = [{"key": HOST_FILE, "path": HOST_FILE, "mode": 0o444}]
    volume = {"name": HOST_FILE_VOLUME, "configMap": {"name": HOSTS.name(model.job), "items": items}}
    upsert_volumes(pods.volumes, [volume])
    container = pods.container(NODE)
    if container is None:
        return
    upsert_mounts(container, [{"name": HOST_FILE_VOLUME, "mountPath": HOST_FILE_DIRECTORY}])
    default_host_file, remote_shell_options, keep_names, default_slots = OPEN_MPI_ENVIRONMENT
    upsert_env(
        container,
        [
            {"name": default_host_file, "value": f"{HOST_FILE_DIRECTORY}/{HOST_FILE}"},
            {"name": keep_names, "value": "true"},
            {"name": default_slots, "value": str(slots(model))},
            {"name": remote_shell_options, "value": "-o ConnectionAttempts=10"},
        ],
    )
