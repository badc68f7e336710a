"""Roles of which nothing becomes: those without pods, and those that the kind does not have."""

from __future__ import annotations

from shunter.did_you_mean import did_you_mean, nearest
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

UNKNOWN = Topic(
    id="FIELD010",
    title="an unknown role",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "v1 rejects unknown roles, except in TFJobs and in jobs older than its webhooks; there it runs their pods but ignores "
        "their outcome. The framework has no such role, so it cannot be converted."
    ),
    remedy="Remove the role from the job, or correct its spelling.",
    effort=3,
)


def apply(draft: Draft) -> None:
    """Reports a role that the kind does not have, with the one that may be meant; a role without pods is no finding."""
    roles = draft.job_kind.roles
    placed = {role for group in draft.groups for role in group.roles}
    specs = ("spec", draft.replica_specs)
    for spelled in draft.given(specs):
        role = next((role for role in roles if role.lower() == spelled.lower()), spelled)
        path = (*specs, spelled)
        if role not in roles:
            close = nearest(role, roles)
            remedy = f"{did_you_mean(close)} {UNKNOWN.remedy}" if close else ""
            message = f"{role} is no role of a {draft.kind} ({', '.join(roles)})."
            draft.report(UNKNOWN, path, message, remedy=remedy, dropped=True)
        elif role not in placed:
            draft.default(path, f"{role} has no pods")
