"""Runtimes without a framework of their own: the job's number of nodes and its environment, nothing injected (3.8)."""

from __future__ import annotations

from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import Plugin
from shunter.operator.trainer.upserts import applied_env, upsert_env


class PlainML(Plugin):
    def apply(self, model: Model) -> None:
        policy, trainer, pods = model.policy, model.job.spec.trainer, model.trainer_set
        if policy is not None and (policy.torch or policy.mpi or policy.jax):
            return
        if trainer is None or pods is None:
            return
        if trainer.num_nodes is not None:
            pods.count = trainer.num_nodes
        if model.node_container is not None:
            upsert_env(model.node_container, applied_env(trainer.env))
