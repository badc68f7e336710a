"""JAX: every process gets JAX_* variables about its group, which `jax.distributed.initialize` reads.

The job's own environment is applied later, so a job may set them otherwise.
"""

from __future__ import annotations

from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import Plugin
from shunter.operator.trainer.rendezvous import PORT, RANK_SOURCE, add_rendezvous, first_node, set_nodes

JAX_NUM_PROCESSES = "JAX_NUM_PROCESSES"
JAX_PROCESS_ID = "JAX_PROCESS_ID"
JAX_COORDINATOR_ADDRESS = "JAX_COORDINATOR_ADDRESS"
PROCESS_ENVIRONMENT = (JAX_NUM_PROCESSES, JAX_PROCESS_ID, JAX_COORDINATOR_ADDRESS)
"""The variables that the plugin sets; other variables of JAX choose devices and precision."""


class JAX(Plugin):
    """Acts where the runtime has `mlPolicy.jax`."""

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes, and JAX_* with one process a node. Only jobs with a `trainer` section, be it empty, get
        these variables."""
        if model.policy is None or model.policy.jax is None or model.trainer_set is None:
            return
        set_nodes(model)
        add_rendezvous(
            model,
            [
                {"name": JAX_NUM_PROCESSES, "value": str(model.trainer_set.count)},
                {"name": JAX_PROCESS_ID, "valueFrom": RANK_SOURCE},
                {"name": JAX_COORDINATOR_ADDRESS, "value": f"{first_node(model.job)}:{PORT}"},
            ],
        )
