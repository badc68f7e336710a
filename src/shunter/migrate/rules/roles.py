"""Roles of which nothing becomes: those without pods, those that the kind does not have (NX15), and jobs with no pods at all."""

from __future__ import annotations

from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.draft import Draft
from shunter.migrate.findings import Topic

UNKNOWN = Topic(
    id="FIELD010",
    title="a role that the kind does not have",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation=(
        "v1 refuses such roles, but for those of TFJobs and of jobs that are older than its webhooks: it runs their pods, and "
        "lets them count for nothing. The framework knows no such role, so there is nothing that they could become."
    ),
    remedy="Take the role out of the job, or spell it as the kind does.",
    effort=3,
    traps=("NX15",),
)
NO_PODS = Topic(
    id="FIELD011",
    title="a job without pods",
    severity="error",
    impact="blocking",
    change="unsupported",
    grade="N",
    explanation="All roles have 0 replicas, or there are none. v1 runs nothing for such a job; a TrainJob has at least one node.",
    remedy="Give the job the replicas that it should train with, or leave it behind.",
    effort=1,
)


def apply(draft: Draft) -> None:
    roles = next(kind.roles for kind in JOB_KINDS if kind.resource.kind == draft.kind)
    placed = {role for group in draft.groups for role in group.roles}
    specs = ("spec", draft.replica_specs)
    for spelled in draft.given(specs) or () if draft.is_given(specs) else ():
        role = next((role for role in roles if role.lower() == spelled.lower()), spelled)
        path = (*specs, spelled)
        if role not in roles:
            draft.report(UNKNOWN, path, f"{role} is no role of a {draft.kind} ({', '.join(roles)}).", dropped=True)
        elif role not in placed:
            draft.default(path, f"{role} has no pods")
    if not any(draft.job.replica_count(role) for role in roles):
        draft.report(NO_PODS, specs, f"spec.{draft.replica_specs} asks for no pods.", dropped=not draft.given(specs))
