"""XGBoostJob: Master and Workers on a plain runtime, with v1's variables, of which programs make their tracker
(rabit) or machine list (LightGBM). v2's xgboost plugin sets other names (DMLC_*), which no program of v1 reads.
"""

from __future__ import annotations

from shunter.api.trainer.runtime import NODE
from shunter.api.training.xgboost import MASTER, WORKER
from shunter.migrate.conversion.compat_environment import GLOBAL_INDEX_SOURCE, place_roles, variables_of_v1
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.conversion.templates import differences, have_differing_ports
from shunter.migrate.findings import Topic
from shunter.operator.trainer.rendezvous import RANK_SOURCE

KIND = "XGBoostJob"

APART = Topic(
    id="XGB001",
    title="Master and Workers differ, so each role has a replicated job",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A replicated job has one pod template. Because the roles differ, the Master gets its own replicated job, and each "
        "Worker its own Job, whose number is its rank. The trainer section of the TrainJob applies only to the Master, gang "
        "schedulers count one pod for each replicated job, and queues get more and smaller Jobs."
    ),
    remedy="Use the same template and restartPolicy for both roles if the difference does not matter.",
    effort=3,
)
PORTS = Topic(
    id="XGB003",
    title="Master and Workers name different ports",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "MASTER_PORT and WORKER_PORT are set as in v1. The ports of a container are informational: both roles share one pod "
        "template, which declares the ports of the Master."
    ),
    remedy="No action needed.",
    effort=0,
    explains=("ports.*",),
)


def arrange(draft: Draft) -> None:
    """One group where Master and Workers say the same, else one each. Where there is a Master, its success is the job's. P3."""
    roles = tuple(role for role in (MASTER, WORKER) if draft.job.replica_count(role))
    apart = differences(draft, roles)
    if apart:
        master, worker = _groups_apart(draft)
        draft.groups = [master, worker]
        draft.jobset["successPolicy"] = {"operator": "All", "targetReplicatedJobs": [master.name]}
        fields = ", ".join(dict.fromkeys(difference.field for difference in apart))
        draft.report(APART, ("spec", draft.replica_specs), f"Master and Worker differ in {fields}.")
    else:
        group = Group(NODE, roles, sum(draft.job.replica_count(role) for role in roles))
        if MASTER in roles and group.count > 1:
            group.job_spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
        draft.groups = [group]
        if have_differing_ports(draft, roles):
            draft.report(PORTS, draft.role_path(WORKER), "The pods of both roles declare the ports of the Master now.")
    place_roles(draft)
    rank = GLOBAL_INDEX_SOURCE if apart else RANK_SOURCE
    for group in draft.groups:
        group.environment = variables_of_v1(draft, group.roles[0], 0, RANK=rank)
        group.explicit_environment = group.environment
    draft.trainer["numNodes"] = draft.groups[0].count
    draft.profile = "P3"
    draft.reason = "programs of v1 read variables of their own, not those of v2's xgboost plugin: a plain runtime with v1's"


def _groups_apart(draft: Draft) -> tuple[Group, Group]:
    """Each Worker has a Job of its own: its place among all Jobs, after the Master's, is its rank."""
    workers = draft.job.replica_count(WORKER)
    return (
        Group("master", (MASTER,), draft.job.replica_count(MASTER)),
        Group("worker", (WORKER,), 1, replicas=workers, trains=False),
    )
