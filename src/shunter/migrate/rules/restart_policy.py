"""restartPolicy and backoffLimit: what happens when a pod fails (3.2, 3.3).

v1 restarts for ever unless it is told otherwise, and counts over all pods; a Job gives up after 6 and counts its own.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.migrate.draft import Draft, Group
from shunter.migrate.findings import Topic

UNLIMITED = 2**31 - 1
LAST_PERMANENT_EXIT_CODE = 127

ALWAYS = Topic(
    id="RESTART001",
    title="restartPolicy Always becomes OnFailure",
    severity="warning",
    impact="blocking",
    change="semantic-change",
    grade="L",
    explanation=(
        "Pods of a v1 job with restartPolicy Always start again even when their program ended well. Jobs of Kubernetes, which v2 "
        "is made of, allow OnFailure and Never only: a program that ends well has ended."
    ),
    remedy="Let the program itself loop if it must run again, then accept with --accept RESTART001.",
    effort=3,
    traps=("T5", "NX6"),
    acceptable=True,
)
PER_JOB_LIMIT = Topic(
    id="RESTART002",
    title="backoffLimit counts the restarts of each group of pods",
    severity="warning",
    impact="advisory",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 counts restarts over all pods of the job; v2 gives the limit to a Job, and there is one for each replicated job of "
        "the runtime. With several of them the job may restart more often before it fails."
    ),
    remedy="Lower backoffLimit if the total matters.",
    effort=1,
    traps=("T4", "NX10"),
)


def apply(draft: Draft) -> None:
    for group in draft.groups:
        policy = _policy(draft, group)
        limit = _backoff_limit(draft, policy)
        group.job_spec["backoffLimit"] = limit
        if policy == "ExitCode":
            group.job_spec["podFailurePolicy"] = _permanent_exit_codes(limit)
        for role in group.roles:
            path = (*draft.role_path(role), "restartPolicy")
            if draft.is_given(path):
                target = (*draft.pod_template_path(group), "spec", "restartPolicy")
                draft.carry(path, "TrainingRuntime", target, f"{policy} as v2 has it")
            if policy == "Always":
                draft.report(ALWAYS, path, f"{role} pods that end well are not started again.")
    path = (*draft.run_policy, "backoffLimit")
    if draft.is_given(path):
        index = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "backoffLimit")
        draft.carry(path, "TrainingRuntime", index)
        if len(draft.groups) > 1:
            draft.report(PER_JOB_LIMIT, path, f"backoffLimit {draft.given(path)} counts for each of {len(draft.groups)} Jobs.")


def pod_restart_policy(draft: Draft, group: Group) -> str:
    """What the pods of the group say themselves."""
    policy = _policy(draft, group)
    return {"Always": "OnFailure", "ExitCode": "Never"}.get(policy, policy)


def _policy(draft: Draft, group: Group) -> str:
    return draft.job.replicas[group.roles[0]].restart_policy


def _backoff_limit(draft: Draft, policy: str) -> int:
    if policy == "Never":
        return 0
    limit = draft.job.run_policy.backoff_limit
    return UNLIMITED if limit is None else limit


def _permanent_exit_codes(limit: int) -> Json:
    """v1 fails the job for codes up to 127, and replaces the pod for those that tell of a signal."""
    codes = list(range(1, LAST_PERMANENT_EXIT_CODE + 1))
    return {"rules": [{"action": "FailJob", "onExitCodes": {"containerName": NODE, "operator": "In", "values": codes}}]}
