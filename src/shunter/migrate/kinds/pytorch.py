"""PyTorchJob (3.4): a Master and Workers become the nodes of one group, rank 0 first."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.pytorch import MASTER, WORKER
from shunter.migrate.draft import Draft, Group

KIND = "PyTorchJob"
PLACEHOLDERS = ("PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NPROC_PER_NODE")


def arrange(draft: Draft) -> None:
    roles = tuple(role for role in (MASTER, WORKER) if draft.job.replica_count(role))
    nodes = sum(draft.job.replica_count(role) for role in roles)
    group = Group(name=NODE, roles=roles, count=nodes)
    group.plugin_placeholders = [{"name": name, "value": ""} for name in PLACEHOLDERS]
    group.environment = _environment()
    draft.groups = [group]
    draft.ml_policy = {"torch": {}}
    draft.trainer |= {"numNodes": nodes}
    draft.profile, draft.reason = "P2", "Master and Workers are alike, and keep their restart policy"
    group.job_spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}


def _environment() -> list[Json]:
    """What v1 told its pods, made of what v2's torch plugin tells them (S-B)."""
    told = {
        "MASTER_ADDR": "PET_MASTER_ADDR",
        "MASTER_PORT": "PET_MASTER_PORT",
        "RANK": "PET_NODE_RANK",
        "WORLD_SIZE": "PET_NNODES",
    }
    return [{"name": "PYTHONUNBUFFERED", "value": "1"}, *({"name": name, "value": f"$({told[name]})"} for name in told)]
