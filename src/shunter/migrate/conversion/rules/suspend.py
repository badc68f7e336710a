"""runPolicy.suspend, and jobs that have a life already: their result must not begin to train by being applied."""

from __future__ import annotations

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

FINISHED = Topic(
    id="SUSPEND001",
    title="the job has finished: its result is suspended",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "The status shows that this job has succeeded or failed. The TrainJob has no record of that and would train again. "
        "Status and history cannot be migrated."
    ),
    remedy="Archive the job instead of migrating it. To train again, remove spec.suspend from the TrainJob.",
    effort=0,
)
ALIVE = Topic(
    id="SUSPEND002",
    title="the job is in a cluster: its result is suspended",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "The object was read from a cluster, where it may be running. Its pods cannot be handed over, and two training runs that "
        "write the same checkpoints corrupt them. So the result starts suspended."
    ),
    remedy="Let the v1 job end, or suspend it after a checkpoint; then resume the TrainJob (spec.suspend: false).",
    effort=0,
)


def apply(draft: Draft) -> None:
    """Suspends the TrainJob where the source is suspended or was read from a cluster, or `Options.suspend` says so."""
    path = (*draft.run_policy, "suspend")
    is_asked = draft.given(path) is True
    is_live = draft.is_live
    if is_asked or is_live or draft.options.suspend:
        draft.train_job["suspend"] = True
    if is_asked:
        draft.carry(path, "TrainJob", ("spec", "suspend"))
    else:
        draft.default(path, "a TrainJob runs unless it is suspended")
    if draft.job.status.is_finished:
        draft.report(FINISHED, ("status",), f"{draft.source.title} has finished: the TrainJob is suspended.")
    elif is_live and not is_asked:
        draft.report(ALIVE, (), f"{draft.source.title} was read from a cluster: the TrainJob is suspended.")
