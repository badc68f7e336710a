"""Flux: the pods of a job become one Flux instance, which runs the job's command as its only job.

An init container brings Flux itself, from an image that holds it, into a volume; a script starts the brokers. Unlike upstream's,
the brokers' key is random, and jobs may do without a `trainer` section or a number of nodes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

import msgspec

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.api.pod_security import restrictions
from shunter.api.resources import CONFIG_MAPS, SECRETS
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import NODE, FluxPolicy
from shunter.api.trainer.trainjob import Trainer, TrainJob
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import AdmissionContext, Companion, Plugin
from shunter.operator.trainer.plugins.curve_certificate import certificate
from shunter.operator.trainer.plugins.flux_scripts import Instance, entrypoint_script, init_script
from shunter.operator.trainer.rendezvous import counted_resources, set_nodes
from shunter.operator.trainer.resources import gpu_count
from shunter.operator.trainer.upserts import upsert_mounts, upsert_volumes

INSTALLER = "flux-installer"
SCRIPTS = Companion(CONFIG_MAPS, "-flux-entrypoint")
CURVE = Companion(SECRETS, "-flux-curve")
ENTRYPOINT, INIT = "entrypoint.sh", "init.sh"
SCRIPTS_DIRECTORY = "/etc/flux-config"

SETTINGS = {
    "FLUX_VIEW_IMAGE": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    "FLUX_NETWORK_DEVICE": "eth0",
    "FLUX_QUEUE_POLICY": "fcfs",
}
"""Variables of the runtime's container, or of the job, that say how Flux is set up; and what holds without them."""


class Flux(Plugin):
    """Acts where the runtime has `mlPolicy.flux`."""

    companions = (SCRIPTS, CURVE)

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes; then gives the container `node` of the replicated job `node` its volumes, the init
        container that brings Flux, and the script as its command. A runtime without that container gets none of these."""
        if model.policy is None or model.policy.flux is None:
            return
        set_nodes(model)
        pods = model.pod_set(NODE)
        container = pods.container(NODE) if pods else None
        if pods is None or container is None:
            return
        scripts, volume = SCRIPTS.name(model.job), scripts_volume(model.job)
        volumes: list[Json] = [
            {"name": "spack-install", "emptyDir": {}},
            {"name": "flux-install", "emptyDir": {}},
            {"name": volume, "configMap": {"name": scripts, "defaultMode": 0o755}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
            {"name": "flux-curve", "secret": {"secretName": CURVE.name(model.job), "defaultMode": 0o400}},
        ]
        upsert_volumes(pods.volumes, volumes)
        installed: Json = {"name": "flux-install", "mountPath": "/mnt/flux"}
        configured: Json = {"name": volume, "mountPath": SCRIPTS_DIRECTORY, "readOnly": True}
        pods.init_containers.append(
            {
                **restrictions(container),
                "name": INSTALLER,
                "image": settings(model.job, container)["FLUX_VIEW_IMAGE"],
                "command": ["/bin/bash", f"{SCRIPTS_DIRECTORY}/{INIT}"],
                "volumeMounts": [installed, configured],
            }
        )
        mounts: list[Json] = [
            installed,
            {"name": "spack-install", "mountPath": "/opt/software"},
            configured,
            {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
            {"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True},
        ]
        upsert_mounts(container, mounts)
        model.trainer = wrapped(model.job.spec.trainer, container)

    def objects(self, model: Model) -> list[Json]:
        """The ConfigMap with the two scripts, made for this job's numbers of nodes, tasks and GPUs."""
        if model.policy is None or model.policy.flux is None:
            return []
        instance = instance_of(model, model.policy.flux)
        return [SCRIPTS.object(model.job, data={ENTRYPOINT: entrypoint_script(instance), INIT: init_script(instance)})]

    def secrets(self, model: Model) -> Mapping[Companion, Callable[[bytes], Json]]:
        """The brokers' certificate, one for all of them."""
        if model.policy is None or model.policy.flux is None:
            return {}
        job = model.job
        return {CURVE: lambda randomness: CURVE.object(job, data={"curve.cert": certificate(job.metadata.name, randomness)})}

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """Fewer than one process a node, and an init container of the replicated job `node` that has the name of ours."""
        policy = context.policy.flux if context.policy else None
        if policy is None:
            return []
        faults = []
        tasks = tasks_per_node(context.job, policy)
        if tasks < 1:
            detail = "must be greater than or equal to 1 for Flux TrainJob"
            faults.append(invalid("spec.trainer.numProcPerNode", tasks, detail))
        nodes = templates.replicated_job(context.template, NODE)
        if nodes is not None and any(one.get("name") == INSTALLER for one in templates.init_containers(nodes)):
            faults.append(invalid("spec.trainer.initContainers", INSTALLER, f"InitContainer '{INSTALLER}' is reserved"))
        return faults


def scripts_volume(job: TrainJob) -> str:
    """Named as the ConfigMap, as upstream does; with the longest name that a job may have that would be too long for a volume."""
    name = SCRIPTS.name(job)
    return SCRIPTS.suffix.removeprefix("-") if label_faults(name) else name


def settings(job: TrainJob, container: Json) -> dict[str, str]:
    """The values of SETTINGS: the job's variables, else the container's, else the defaults."""
    trainer = job.spec.trainer
    given = [*(container.get("env") or []), *(trainer.env if trainer else ())]
    return {**SETTINGS, **{one["name"]: one["value"] for one in given if one["name"] in SETTINGS and one.get("value")}}


def tasks_per_node(job: TrainJob, policy: FluxPolicy) -> int:
    """Processes a node: the job's `numProcPerNode`, else the runtime's, else 1. What is less than 1 is for `Flux.errors`."""
    trainer = job.spec.trainer
    if trainer is not None and trainer.num_proc_per_node is not None:
        return trainer.num_proc_per_node
    return 1 if policy.num_proc_per_node is None else policy.num_proc_per_node


def wrapped(trainer: Trainer | None, container: Json) -> Trainer:
    """The trainer section whose command is our script, with the job's command, else the runtime's, as its argument.

    The runtime's own arguments stay where they are, and come last. Words with blanks or quotes in them are quoted: upstream joins
    them as they are, and the shell then tears them apart."""
    trainer = trainer or Trainer()
    command = trainer.command or container.get("command") or ()
    words = shlex.join([*command, *(trainer.args or ())])
    return msgspec.structs.replace(trainer, command=("/bin/bash", f"{SCRIPTS_DIRECTORY}/{ENTRYPOINT}", words), args=None)


def instance_of(model: Model, policy: FluxPolicy) -> Instance:
    """What the scripts are made from; GPUs are those of one node. A runtime without a replicated job `node` counts as one
    node."""
    pods = model.pod_set(NODE)
    container = (pods.container(NODE) if pods else None) or {}
    chosen = settings(model.job, container)
    return Instance(
        job=model.job.metadata.name,
        namespace=model.job.metadata.namespace,
        nodes=pods.count if pods else 1,
        tasks=tasks_per_node(model.job, policy),
        gpus=gpu_count(counted_resources(model.job, model.template)),
        device=chosen["FLUX_NETWORK_DEVICE"],
        queue_policy=chosen["FLUX_QUEUE_POLICY"],
    )
