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
    explanation="v1 fails a job whose deadline is 0 or less immediately; a TrainJob rejects such a value.",
    remedy="Remove activeDeadlineSeconds, or set the intended number of seconds.",
)
OTHER_CLOCK = Topic(
    id="DEADLINE002",
    title="the deadline counts from the creation of the job, and deletes the pods",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A TrainJob's deadline counts from its creation, or from when it was last resumed. It includes the time to pull images, "
        "to wait for free resources and, without Kueue, to wait in a queue. When it passes, the JobSet is deleted with all pods "
        "and logs. v1 counts from the creation of the pods, and keeps them and their logs."
    ),
    remedy="Allow for the time that the job waits, and store logs outside the pods.",
)
OF_EACH_JOB = Topic(
    id="DEADLINE003",
    title="the deadline applies to each replicated job separately",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In Trainer 2.0 and 2.1 a TrainJob has no deadline, but the Jobs of its JobSet do: each counts from its own start and "
        "fails the JobSet when it passes."
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
