"""What remains of a finished job: cleanPodPolicy and ttlSecondsAfterFinished.

Both become the JobSet's ttlSecondsAfterFinished, which removes the JobSet and with it all pods. Never 0: a JobSet that is gone
before the TrainJob has noted its end is made again, and the job runs once more.
"""

from __future__ import annotations

from shunter.api.training.tensorflow import PS
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

SHORTEST_TTL_SECONDS = 60
_TARGET: Path = ("spec", "template", "spec", "ttlSecondsAfterFinished")
_OUTLIVE_THE_JOB = frozenset({PS})
"""Roles whose pods usually run on when a job is over."""

ENDS_THE_REST = Topic(
    id="CLEAN001",
    title="pods that still run when the job ends are stopped",
    severity="warning",
    change="semantic-change",
    grade="L",
    explanation=(
        "In v2 the JobSet stops pods that still run when the job ends; finished pods and their logs stay until the JobSet is "
        "deleted. v1 with cleanPodPolicy None, the default, leaves all pods, including running ones."
    ),
    remedy="Nothing, unless a pod must outlive the training; run such a pod in a Deployment.",
    effort=0,
)
SERVERS_END = Topic(
    id="CLEAN002",
    title="servers meant to outlive the job are stopped",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The job sets cleanPodPolicy None and has parameter servers: in v1 they keep running after the training. In v2 the "
        "JobSet stops them with the job."
    ),
    remedy="Suppress with --accept CLEAN002 if nothing uses them afterwards; otherwise run them in a Deployment.",
    effort=3,
    acceptable=True,
)
LOGS_GO = Topic(
    id="CLEAN003",
    title="all pods and their logs are deleted one minute after the end",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "cleanPodPolicy All removes all pods when the job ends. In v2 the JobSet's ttlSecondsAfterFinished does this. It must "
        "not be too short: if the JobSet is deleted before the TrainJob has recorded its end, the job runs again."
    ),
    remedy="Store logs outside the pods.",
    effort=0,
)
JOB_STAYS = Topic(
    id="TTL001",
    title="the TrainJob stays when its pods are removed",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v2 only the JobSet, with its pods and logs, is deleted in time; the TrainJob with its condition Complete or Failed "
        "stays until it is deleted. In v1 ttlSecondsAfterFinished deletes the job itself. Trainer before 2.3 recreated the "
        "JobSet in some cases, and trained again."
    ),
    remedy="Delete finished TrainJobs by a CronJob, or after collecting their results.",
    upstream="kubeflow/trainer#2899",
)
TOO_SHORT = Topic(
    id="TTL002",
    title="a time to live that is too short for v2 becomes one minute",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The result never sets less than 60 seconds. If a JobSet is deleted before its TrainJob has recorded that it finished, "
        "it is recreated, and the training starts again."
    ),
    remedy="No action needed.",
    effort=0,
)


def apply(draft: Draft) -> None:
    """Sets the JobSet's ttlSecondsAfterFinished for both: the shorter time, never below SHORTEST_TTL_SECONDS; none where pods are
    to stay."""
    policy, ttl = draft.job.run_policy.clean_pod_policy, draft.job.run_policy.ttl_seconds_after_finished
    removes_pods = policy not in ("None", "Running")
    seconds = [max(ttl, SHORTEST_TTL_SECONDS)] if ttl is not None else []
    if removes_pods:
        seconds.append(SHORTEST_TTL_SECONDS)
    if seconds:
        draft.jobset["ttlSecondsAfterFinished"] = min(seconds)
    _account_for_policy(draft, removes_pods=removes_pods)
    path = (*draft.run_policy, "ttlSecondsAfterFinished")
    if ttl is None:
        return
    if not removes_pods:
        draft.carry(path, "TrainingRuntime", _TARGET, "" if ttl == min(seconds) else f"{min(seconds)} is the least")
    says = f"{min(seconds)} seconds after its end the pods of the TrainJob are deleted, not the TrainJob."
    draft.report(JOB_STAYS, path, says, dropped=removes_pods)
    if ttl < SHORTEST_TTL_SECONDS:
        draft.report(TOO_SHORT, path, f"{ttl} seconds become {SHORTEST_TTL_SECONDS}.")


def _account_for_policy(draft: Draft, *, removes_pods: bool) -> None:
    """The field of the run policy counts; MPIJobs have an older one beside it, for when that is not there."""
    given = [path for path in ((*draft.run_policy, "cleanPodPolicy"), ("spec", "cleanPodPolicy")) if draft.is_given(path)]
    servers = [role for role in draft.job.replicas if role in _OUTLIVE_THE_JOB and draft.job.replica_count(role)]
    for path in given[1:]:
        draft.default(path, "runPolicy.cleanPodPolicy counts")
    if not given:
        if servers:
            draft.report(ENDS_THE_REST, (), f"{', '.join(servers)} end with the job.")
        return
    path, policy = given[0], draft.given(given[0])
    if removes_pods:
        draft.carry(path, "TrainingRuntime", _TARGET, f"{policy} means that the JobSet goes")
        draft.report(
            LOGS_GO, path, f"cleanPodPolicy {policy} becomes ttlSecondsAfterFinished {SHORTEST_TTL_SECONDS} of the JobSet."
        )
    elif policy == "Running":
        draft.default(path, "a JobSet ends what still runs when it is over")
    elif servers:
        draft.report(SERVERS_END, path, f"{', '.join(servers)} end with the job.", dropped=True)
    else:
        draft.report(ENDS_THE_REST, path, "Pods that still run when the job ends are stopped.", dropped=True)
