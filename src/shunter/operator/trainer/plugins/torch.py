"""torchrun: every node gets PET_* variables about its group, which torchrun reads as its options.

Only jobs with a `trainer` section get them, be it empty.
"""

from __future__ import annotations

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.trainer import torch_validation, torchtune
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.trainer.validation import reserved_environment_errors
from shunter.operator.trainer.model import BuildError, Model
from shunter.operator.trainer.plugin import AdmissionContext, Plugin
from shunter.operator.trainer.plugins.torchtune_command import completed_command
from shunter.operator.trainer.rendezvous import PORT, RANK_SOURCE, add_rendezvous, counted_resources, first_node, set_nodes
from shunter.operator.trainer.resources import cpu_count, gpu_count
from shunter.operator.trainer.upserts import applied_env, upsert_env


class Torch(Plugin):
    """Acts where the runtime has `mlPolicy.torch`, which torchtune's runtimes have as well."""

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes, and PET_* in the training container and in those that `envInjection` names. The
        training container of a torchtune job gets no PET_MASTER_*, but its command is completed. BuildError where the runtime
        lacks a container that `envInjection` names."""
        if model.policy is None or model.policy.torch is None or model.trainer_set is None:
            return
        set_nodes(model)
        trainer, nodes, node = model.job.spec.trainer, model.trainer_set.count, model.node_container
        processes = processes_per_node(model)
        group, master = group_variables(nodes, processes), master_variables(model.job)
        if trainer is not None and node is not None:
            is_torchtune = trainer.command == torchtune.COMMAND
            upsert_env(node, applied_env(trainer.env))
            add_rendezvous(model, group if is_torchtune else [*group, *master])
            if is_torchtune:
                command = completed_command(
                    model.job,
                    node.get("command") or [],
                    nodes=nodes,
                    processes=processes,
                    gpus=gpu_count(counted_resources(model.job, model.template)),
                    endpoint=f"{first_node(model.job)}:{PORT}",
                )
                model.trainer = msgspec.structs.replace(trainer, command=command)
        self._inject(model, [*group, *master])

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """Targets of `envInjection` that the runtime lacks, variables that are torchrun's, and what torchtune cannot do."""
        policy = context.policy.torch if context.policy else None
        if policy is None:
            return []
        return [
            *torch_validation.injection_errors(policy, context.template),
            *reserved_environment_errors(context.job, torch_validation.TORCHRUN_ENVIRONMENT),
            *torchtune.errors(context.job, gpus=gpu_count(counted_resources(context.job, context.template))),
        ]

    def _inject(self, model: Model, variables: list[Json]) -> None:
        """The same variables for further containers that the runtime names."""
        injection = model.policy.torch.env_injection if model.policy and model.policy.torch else None
        for target in injection.targets if injection else ():
            pods = model.pod_set(target.job_name)
            for name in target.container_names:
                containers = [*pods.containers, *pods.init_containers] if pods else []
                container = next((container for container in containers if container.get("name") == name), None)
                if container is None:
                    raise BuildError(
                        f'envInjection target podSet "{target.job_name}" container "{name}" not found in runtime template'
                    )
                upsert_env(container, variables)


def group_variables(nodes: int, processes: str) -> list[Json]:
    """PET_NNODES, PET_NPROC_PER_NODE, which `processes` is (a number or `auto`), and PET_NODE_RANK from the pod's annotation."""
    return [
        {"name": "PET_NNODES", "value": str(nodes)},
        {"name": "PET_NPROC_PER_NODE", "value": processes},
        {"name": "PET_NODE_RANK", "valueFrom": RANK_SOURCE},
    ]


def master_variables(job: TrainJob) -> list[Json]:
    """PET_MASTER_ADDR, which is the name of node 0, and PET_MASTER_PORT."""
    return [
        {"name": "PET_MASTER_ADDR", "value": first_node(job)},
        {"name": "PET_MASTER_PORT", "value": str(PORT)},
    ]


def processes_per_node(model: Model) -> str:
    """PET_NPROC_PER_NODE: the job's number; else `auto` with GPUs, which torchrun counts itself; else one a CPU.

    The job's resources, when it has any, are looked at alone, not merged with the runtime's.
    """
    trainer = model.job.spec.trainer
    if trainer is not None and trainer.num_proc_per_node is not None:
        return str(trainer.num_proc_per_node)
    resources = counted_resources(model.job, model.template)
    return "auto" if gpu_count(resources) else str(max(1, cpu_count(resources)))
