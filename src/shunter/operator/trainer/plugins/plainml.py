"""Runtimes without a framework that takes them over: the job's number of nodes and its environment, nothing injected."""

from __future__ import annotations

from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import Plugin
from shunter.operator.trainer.rendezvous import set_nodes
from shunter.operator.trainer.upserts import applied_env, upsert_env


class PlainML(Plugin):
    """Acts in all jobs but those with a runtime for torch, MPI or JAX."""

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes, and its variables in the training container, in place of those of the same name."""
        policy, trainer = model.policy, model.job.spec.trainer
        if policy is not None and (policy.torch or policy.mpi or policy.jax):
            return
        set_nodes(model)
        if trainer is not None and model.node_container is not None:
            upsert_env(model.node_container, applied_env(trainer.env))
