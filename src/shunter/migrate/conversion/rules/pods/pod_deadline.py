"""activeDeadlineSeconds of a pod template, which is not that of the job."""

from __future__ import annotations

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

OF_THE_POD = Topic(
    id="POD011",
    title="a pod that exceeds its own deadline is replaced",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A pod with activeDeadlineSeconds in its template fails when the time is over. v1 does not replace a failed pod unless "
        "the role has restartPolicy ExitCode; a Job does, as often as its backoffLimit allows."
    ),
    remedy="Set a deadline for the whole job instead: runPolicy.activeDeadlineSeconds.",
)


def apply(draft: Draft) -> None:
    """Reports it where pods that it ends are replaced; it stays in the template."""
    for group in draft.groups:
        seconds = group.pod["spec"].get("activeDeadlineSeconds")
        if seconds is not None and group.job_spec.get("backoffLimit"):
            path = (*draft.template_paths(group)[0], "spec", "activeDeadlineSeconds")
            draft.report(OF_THE_POD, path, f"Pods of {group.name} that run longer than {seconds} seconds are replaced.")
