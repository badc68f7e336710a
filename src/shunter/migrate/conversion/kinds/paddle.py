"""PaddleJob: a plain runtime and v1's variables; the pod that all others meet is a replicated job by itself.

paddle.distributed.launch starts the server that all meet at only where PADDLE_MASTER is, letter by letter, the address of its
own machine (Paddle 3.0: launch/controllers/master.py). So the first pod gets its own address, as in v1, and the others its
name; pods of one Job get the same, hence two of them.
"""

from __future__ import annotations

from shunter.api.trainer.runtime import NODE
from shunter.api.training.paddle import MASTER, WORKER
from shunter.migrate.conversion.compat_environment import place_roles, variables_of_v1
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic

KIND = "PaddleJob"

FIRST_APART = Topic(
    id="PADDLE001",
    title="the first pod of a PaddleJob gets a separate replicated job",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "v2 has no plugin for Paddle. Its launcher is the rendezvous if PADDLE_MASTER is the pod's own address, so the first "
        "pod gets different variables and needs a separate replicated job. The trainer section of the TrainJob (image, command, "
        "env, resources, numNodes) applies only to this pod; change the others in the runtime."
    ),
    remedy="Change the other pods in the generated TrainingRuntime.",
    effort=3,
)


def arrange(draft: Draft) -> None:
    """The first group is one pod, which all others meet and which the trainer section is about. P3, with v1's variables in every
    pod."""
    leader = MASTER if draft.job.replica_count(MASTER) else WORKER
    draft.groups = [Group("master" if leader == MASTER else NODE, (leader,), 1), *_others(draft, leader)]
    place_roles(draft)
    for group in draft.groups:
        index = 0 if group.trains else draft.job.replica_count(leader) - 1
        group.environment = variables_of_v1(draft, group.roles[0], index)
        group.explicit_environment = group.environment
    if leader == MASTER and len(draft.groups) > 1:
        targets = [group.name for group in draft.groups if MASTER in group.roles]
        draft.jobset["successPolicy"] = {"operator": "All", "targetReplicatedJobs": targets}
    draft.trainer["numNodes"] = 1
    draft.profile, draft.reason = "P3", "v2 has no plugin for Paddle: a plain runtime with v1's variables"
    if len(draft.groups) > 1:
        others = " and ".join(group.name for group in draft.groups[1:])
        text = f"{leader} 0 is the replicated job {draft.groups[0].name}, which all others ({others}) meet."
        draft.report(FIRST_APART, ("spec", draft.replica_specs), text, target="TrainJob spec.trainer")
    draft.default(("spec", "elasticPolicy"), "v1 accepts it, and nothing reads it")


def _others(draft: Draft, leader: str) -> list[Group]:
    """The rest of the leader's role, and the Workers where it is the Masters'."""
    rest, workers = draft.job.replica_count(leader) - 1, draft.job.replica_count(WORKER)
    groups = [Group("server" if leader == MASTER else "worker", (leader,), rest, trains=False)] if rest > 0 else []
    if leader == MASTER and workers:
        groups.append(Group("worker", (WORKER,), workers, trains=False))
    return groups
