"""runPolicy.activeDeadlineSeconds."""

from __future__ import annotations

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.versions import has
from shunter.migrate.findings import Topic

NONE_AT_ALL = Topic(
    id="DEADLINE001",
    title="a deadline that passes before the job starts",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="v1 fails a job with a deadline of 0 or less at once; a TrainJob refuses such a value.",
    remedy="Remove activeDeadlineSeconds, or write the seconds that are meant.",
)
OTHER_CLOCK = Topic(
    id="DEADLINE002",
    title="the deadline counts from the creation of the job, and deletes the pods",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 counts from the moment at which the pods were made, and leaves them and their logs. A TrainJob counts from its "
        "creation, or from when it was last resumed: pulling images, waiting for room and, without Kueue, waiting in a queue are "
        "included. When the time is over its JobSet is deleted, with all pods and logs."
    ),
    remedy="Allow for the time that the job waits, and keep logs outside of the pods.",
)
OF_EACH_JOB = Topic(
    id="DEADLINE003",
    title="the deadline applies to each replicated job separately",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A TrainJob of Trainer 2.0 and 2.1 has no deadline. The Jobs of its JobSet have: each counts from its own start, and "
        "fails the JobSet when it is over."
    ),
    remedy="Upgrade Trainer to 2.2 and convert with --target-version 2.2.",
)


def apply(draft: Draft) -> None:
    """Carries it to the TrainJob, where the target release has the field, else to every Job. Drops one that is not positive."""
    path = (*draft.run_policy, "activeDeadlineSeconds")
    seconds = draft.job.run_policy.active_deadline_seconds
    if seconds is None:
        return
    if seconds <= 0:
        draft.report(NONE_AT_ALL, path, f"activeDeadlineSeconds is {seconds}.", dropped=True)
    elif has(draft.options, "activeDeadlineSeconds"):
        draft.train_job["activeDeadlineSeconds"] = seconds
        draft.carry(path, "TrainJob", ("spec", "activeDeadlineSeconds"))
        draft.report(OTHER_CLOCK, path, f"The {seconds} seconds count from the creation of the TrainJob.")
    else:
        for group in draft.groups:
            group.job_spec["activeDeadlineSeconds"] = seconds
        target = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "activeDeadlineSeconds")
        draft.carry(path, "TrainingRuntime", target)
        draft.report(OF_EACH_JOB, path, f"The {seconds} seconds are a deadline of each Job.")
