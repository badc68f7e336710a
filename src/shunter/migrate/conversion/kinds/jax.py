"""JAXJob: Workers become the nodes of one group under v2's jax plugin, and get v1's variables as well."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.jax import WORKER
from shunter.migrate.conversion.compat_environment import place_roles, variables_of_v1
from shunter.migrate.conversion.draft import Draft, Group
from shunter.operator.trainer.plugins.jax import JAX_NUM_PROCESSES, JAX_PROCESS_ID
from shunter.operator.trainer.rendezvous import RANK_SOURCE

KIND = "JAXJob"
PLUGIN = {"NUM_PROCESSES": JAX_NUM_PROCESSES, "PROCESS_ID": JAX_PROCESS_ID}
"""Variables of v1 whose value v2's plugin gives under another name."""


def arrange(draft: Draft) -> None:
    """One group of all Workers, P2, with mlPolicy `jax`. PROCESS_ID is the rank in it."""
    nodes = draft.job.replica_count(WORKER)
    group = Group(NODE, (WORKER,), nodes)
    draft.groups = [group]
    place_roles(draft)
    variables = variables_of_v1(draft, WORKER, 0, PROCESS_ID=RANK_SOURCE)
    group.explicit_environment = variables
    group.environment = [_by_plugin(variable) for variable in variables]
    group.plugin_placeholders = [{"name": name, "value": ""} for name in PLUGIN.values()]
    draft.ml_policy = {"jax": {}}
    draft.trainer["numNodes"] = nodes
    draft.profile, draft.reason = "P2", "Workers are alike, and v1's variables are made of those of v2's jax plugin"


def _by_plugin(variable: Json) -> Json:
    name = variable["name"]
    return {"name": name, "value": f"$({PLUGIN[name]})"} if name in PLUGIN else variable
