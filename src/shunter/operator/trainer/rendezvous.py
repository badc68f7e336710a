"""The rendezvous address of a job, and the source of each process's rank, which frameworks share.

The address is always that of the first pod of the replicated job `node` under the job's own name, whatever the runtime calls
them.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, NODE
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.upserts import upsert_env, upsert_port

PORT = 29500
RANK_SOURCE: Json = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
"""A pod's place among those of its Job."""


def first_node(job: TrainJob) -> str:
    """The name under which all pods reach node 0."""
    return f"{job.metadata.name}-node-0-0.{job.metadata.name}"


def set_nodes(model: Model) -> None:
    """The job's number of nodes, if it says one."""
    trainer, pods = model.job.spec.trainer, model.trainer_set
    if trainer is not None and trainer.num_nodes is not None and pods is not None:
        pods.count = trainer.num_nodes


def add_rendezvous(model: Model, variables: list[Json]) -> None:
    """Gives the training container variables and the port to meet on, if the job has a `trainer` section, be it empty."""
    if model.job.spec.trainer is None or model.node_container is None:
        return
    upsert_env(model.node_container, variables)
    upsert_port(model.node_container, {"containerPort": PORT})


def counted_resources(job: TrainJob, template: Json) -> Json:
    """The resources that decide about processes: the job's alone when it has any, not merged; else those of the first container
    `node` that has any, of the replicated job `node` and those that train, in the template's order. A launcher has them too."""
    trainer = job.spec.trainer
    if trainer is not None and trainer.resources_per_node is not None:
        return trainer.resources_per_node
    for pods in templates.replicated_jobs(template):
        if pods.get("name") == NODE or templates.ancestor(pods) == ANCESTOR_TRAINER:
            for container in templates.containers(pods):
                if container.get("name") == NODE and container.get("resources") is not None:
                    resources: Json = container["resources"]
                    return resources
    return {}
