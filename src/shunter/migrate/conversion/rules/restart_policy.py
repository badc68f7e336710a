"""restartPolicy and backoffLimit: what happens when a pod fails.

v1 restarts for ever by default, and counts over all pods; a Job gives up after 6 and counts its own.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic

UNLIMITED = 2**31 - 1
LAST_PERMANENT_EXIT_CODE = 127
JOBSET_RESTART_POLICY = "OnFailure"
"""What JobSet's webhook gives pods that say none."""

ALWAYS = Topic(
    id="RESTART001",
    title="restartPolicy Always becomes OnFailure",
    severity="warning",
    other_impact="blocking",
    change="semantic-change",
    grade="L",
    explanation=(
        "Pods of a v1 job with restartPolicy Always restart even when their program exits with 0. v2 is based on Kubernetes "
        "Jobs, which allow only OnFailure and Never: a program that exits with 0 is not restarted."
    ),
    remedy="Make the program loop if it must run again, then suppress with --accept RESTART001.",
    effort=3,
    acceptable=True,
)
PER_JOB_LIMIT = Topic(
    id="RESTART002",
    title="backoffLimit counts the restarts of each group of pods",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 counts restarts over all pods of the job; in v2 the limit applies to each Job, and each replicated job of the "
        "runtime has its own. With several of them the job may restart more often before it fails."
    ),
    remedy="Lower backoffLimit if the total number of restarts matters.",
)


NO_POLICY = Topic(
    id="RESTART004",
    title="a restart policy that does not exist",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "v1 accepts any value and copies it into the pods, which the API server then rejects: the job never starts. Valid "
        "values are Always, OnFailure, Never and ExitCode."
    ),
    remedy="Use Always, OnFailure, Never or ExitCode.",
)
EXIT_CODES = Topic(
    id="RESTART005",
    title="ExitCode becomes a podFailurePolicy",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "v1 fails the job on exit codes 1 to 127 and replaces the pod on exit codes of signals (128 and above). A "
        "podFailurePolicy of the Job does the same; the replacement keeps the index and host name of the pod. v1 did not count "
        "such replacements against backoffLimit; a Job counts each failed pod. Needs Kubernetes 1.31."
    ),
    remedy="Raise backoffLimit if jobs are often preempted.",
)
NEGATIVE_LIMIT = Topic(
    id="RESTART006",
    title="a negative backoffLimit",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "v1 treats a negative limit as already exceeded: the job fails as soon as it runs. A Job rejects such a limit. The "
        "result uses 0, with which the job runs until something fails."
    ),
    remedy="Set 0 in the source, or remove the field; or suppress with --accept RESTART006.",
    acceptable=True,
)
_KNOWN = ("Always", "OnFailure", "Never", "ExitCode")
_AS_OF_PODS = {"Always": "OnFailure", "ExitCode": "Never"}


def apply(draft: Draft) -> None:
    """Sets backoffLimit of each group's Jobs, and for ExitCode a podFailurePolicy that lets permanent exit codes fail the job."""
    for group in draft.groups:
        policy = restart_policy(draft, group)
        limit = _backoff_limit(draft, policy)
        if "backoffLimitPerIndex" not in group.job_spec:
            group.job_spec["backoffLimit"] = limit
        if policy == "ExitCode" and limit > 0:
            group.job_spec["podFailurePolicy"] = _permanent_exit_codes()
        for role in group.roles:
            _account(draft, group, role, policy)
    _account_for_limit(draft)


def restart_policy(draft: Draft, group: Group) -> str:
    """The policy of the group's roles: kinds put only roles of one policy into one group."""
    return draft.job.replicas[group.roles[0]].restart_policy


def pod_restart_policy(policy: str) -> str:
    """What pods say themselves for a role's policy."""
    return _AS_OF_PODS.get(policy, policy)


def _account(draft: Draft, group: Group, role: str, policy: str) -> None:
    own = draft.job.replicas[role].restart_policy
    path = (*draft.role_path(role), "restartPolicy")
    of_pods = pod_restart_policy(policy)
    if of_pods == JOBSET_RESTART_POLICY:
        draft.default(path, "pods of a JobSet restart on failure")
    elif draft.is_given(path):
        target = (*draft.pod_template_path(group), "spec", "restartPolicy")
        note = "" if draft.given(path) == of_pods else f"{own} is {of_pods} of the pods"
        draft.carry(path, "TrainingRuntime", target, note)
    if own not in _KNOWN:
        draft.report(NO_POLICY, path, f"{role} has restartPolicy {own}.")
    elif own == "Always":
        draft.report(ALWAYS, path, f"{role} pods that succeed are not restarted.")
    elif own == "ExitCode":
        draft.report(EXIT_CODES, path, f"{role} pods that exit with 1 to 127 fail the job, others are replaced.")


def _account_for_limit(draft: Draft) -> None:
    path = (*draft.run_policy, "backoffLimit")
    limit = draft.job.run_policy.backoff_limit
    if limit is None:
        return
    counting = [index for index, group in enumerate(draft.groups) if restart_policy(draft, group) != "Never"]
    if not counting:
        draft.default(path, "v1 does not count the pods of roles with restartPolicy Never")
        return
    target = ("spec", "template", "spec", "replicatedJobs", counting[0], "template", "spec", "backoffLimit")
    draft.carry(path, "TrainingRuntime", target, "" if limit >= 0 else "negative is 0")
    if limit < 0:
        draft.report(NEGATIVE_LIMIT, path, f"backoffLimit {limit} becomes 0.")
    if len(counting) > 1:
        draft.report(PER_JOB_LIMIT, path, f"backoffLimit {limit} counts for each of {len(counting)} replicated jobs.")


def _backoff_limit(draft: Draft, policy: str) -> int:
    """v1 restarts without end by default, and does not restart Never at all."""
    if policy == "Never":
        return 0
    limit = draft.job.run_policy.backoff_limit
    return UNLIMITED if limit is None else max(limit, 0)


def _permanent_exit_codes() -> Json:
    """v1 fails the job for codes up to 127, and replaces the pod for those that tell of a signal. `In` is the shorter form:
    `NotIn` would take all from 128 to 255. With a limit of 0 any failure fails the Job, and it needs no policy."""
    codes = list(range(1, LAST_PERMANENT_EXIT_CODE + 1))
    return {"rules": [{"action": "FailJob", "onExitCodes": {"containerName": NODE, "operator": "In", "values": codes}}]}
