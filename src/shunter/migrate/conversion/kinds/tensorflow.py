"""TFJob: a replicated job for each role; every pod reads in TF_CONFIG who the others are, as in v1.

v2 has no plugin for TensorFlow, so runtimes are plain. TF_CONFIG is made of the job's name and the pod's index, which the kubelet
puts in; the numbers of pods stand in it as text.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.tensorflow import ALL_WORKERS, CHIEF, MASTER, WORKER
from shunter.api.training.tensorflow import KIND as TENSORFLOW
from shunter.migrate.conversion.compat_environment import host_in, place_roles, variables_of_v1
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic
from shunter.operator.trainer.rendezvous import RANK_SOURCE

KIND = "TFJob"
TF_CONFIG = "TF_CONFIG"
TASK_INDEX = "TF_TASK_INDEX"
"""The variable of which the index in TF_CONFIG is made."""

SEVERAL_ROLES = Topic(
    id="TF001",
    title="a TFJob with several roles gets a replicated job for each",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "v2 has no plugin for TensorFlow. Each role becomes a replicated job of a generated runtime, and TF_CONFIG names their "
        "pods. The trainer section of the TrainJob (image, command, env, resources) applies to only one of them; change the "
        "others in the runtime."
    ),
    remedy="Change the other roles in the generated TrainingRuntime.",
    effort=3,
    upstream="kubeflow/trainer#2443",
)
DYNAMIC = Topic(
    id="TF002",
    title="workers cannot join later",
    severity="error",
    change="lossy",
    grade="D",
    explanation=(
        "With enableDynamicWorker workers can be added to a v1 job while it trains, and a failed worker does not fail the job. "
        "The number of workers of a TrainJob cannot change. Failures are tolerated as in v1; but when all workers have failed "
        "the TrainJob fails, where a v1 job would wait forever."
    ),
    remedy="Set Worker.replicas to the largest number that the job will need, then suppress with --accept TF002.",
    explains=("ending.failure",),
    effort=3,
    acceptable=True,
)
FIXED_COUNTS = Topic(
    id="TF003",
    title="TF_CONFIG contains the numbers of pods",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "The runtime's TF_CONFIG lists every pod. If numNodes of the TrainJob or a parallelism is changed, pods wait for others "
        "that do not exist, or do not know some that do. The job may be renamed: its name is read from the pod."
    ),
    remedy="To train with another number of pods, change TF_CONFIG and parallelism of the runtime together, or convert again.",
    effort=0,
)
NO_END = Topic(
    id="TF004",
    title="a job that never succeeds in v1",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "A v1 TFJob without Chief, Master and Worker has no role that decides its end: it stays unchanged until it is deleted. "
        "The TrainJob is complete when all its pods have ended."
    ),
    remedy="Nothing, unless something relies on the job running forever.",
    explains=("ending.success",),
)


def arrange(draft: Draft) -> None:
    """A group for each role with pods, of which the leader (Chief, Master or Worker) trains; one role alone is `node`. P3."""
    roles = [role for role in TENSORFLOW.roles if draft.job.replica_count(role)]
    leader = next((role for role in (CHIEF, MASTER, WORKER) if role in roles), roles[0])
    if len(roles) > 1:
        draft.groups = [Group(role.lower(), (role,), draft.job.replica_count(role), trains=role == leader) for role in roles]
    else:
        draft.groups = [Group(NODE, (leader,), draft.job.replica_count(leader))]
    place_roles(draft)
    draft.trainer["numNodes"] = draft.group_of(leader).count
    draft.profile = "P3"
    draft.reason = "v2 has no plugin for TensorFlow: a plain runtime with TF_CONFIG as v1 writes it"
    for group in draft.groups:
        group.environment = _environment(draft, group)
        if draft.job.spec.enable_dynamic_worker and group.roles == (WORKER,):
            _tolerate_failures(draft, group)
    _restore_success(draft)
    _report(draft, roles)


def _environment(draft: Draft, group: Group) -> list[Json]:
    """TF_CONFIG in terms of the pod's index; nothing for a pod that trains alone."""
    (role,) = group.roles
    index = f"$({TASK_INDEX})" if group.count > 1 else "0"
    is_dynamic = draft.job.spec.enable_dynamic_worker
    usual = host_in(draft)

    def host(named: str, number: int) -> str:
        # With workers that come and go a pod knows no other of its own role: the first stands for each.
        return group.host_expression(index) if is_dynamic and named == role.lower() else usual(named, number)

    variables = [
        {**variable, "value": _of_index(variable["value"], index)} if variable["name"] == TF_CONFIG else variable
        for variable in variables_of_v1(draft, role, 0, host=host)
    ]
    if variables and group.count > 1:
        return [{"name": TASK_INDEX, "valueFrom": RANK_SOURCE}, *variables]
    return variables


def _of_index(config: str, index: str) -> str:
    """The TF_CONFIG of pod 0 for the pod of that index: in its task, and as the key of the only worker that it knows."""
    return config.replace('"index":0', f'"index":{index}').replace('"worker":{"0":', f'"worker":{{"{index}":')


def _restore_success(draft: Draft) -> None:
    """v1 ends with its Chief or Master, else with Worker 0, else (AllWorkers) with all Workers; v2 with all pods."""
    policy = ("spec", "successPolicy")
    leaders = [role for role in (CHIEF, MASTER) if draft.job.replica_count(role)]
    workers = draft.job.replica_count(WORKER)
    if leaders:
        draft.default(policy, f"the {leaders[0]} decides")
    elif workers and draft.job.spec.success_policy != ALL_WORKERS:
        leaders = [WORKER]
        draft.default(policy, "Worker 0 decides: the Job's successPolicy says so")
        if workers > 1:
            draft.group_of(WORKER).job_spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    elif workers:
        leaders = [WORKER]
        draft.default(policy, "a Job succeeds when all of its pods have")
    else:
        draft.default(policy, "the job has no Workers")
    if leaders and len(draft.groups) > 1:
        targets = [draft.group_of(role).name for role in leaders]
        # v1 refuses a Chief beside a Master, but not a "chief": the job is done when either is.
        operator = "Any" if len(targets) > 1 else "All"
        draft.jobset["successPolicy"] = {"operator": operator, "targetReplicatedJobs": targets}


def _tolerate_failures(draft: Draft, group: Group) -> None:
    """A worker that is not restarted may fail without the job: its index fails, the Job goes on for the others."""
    if draft.job.replicas[WORKER].restart_policy == "Never":
        group.job_spec["backoffLimitPerIndex"] = 0


def _report(draft: Draft, roles: list[str]) -> None:
    specs = ("spec", TENSORFLOW.replica_specs)
    if len(roles) > 1:
        others = ", ".join(group.name for group in draft.groups if not group.trains)
        leader = next(group.name for group in draft.groups if group.trains)
        text = f"trainer settings of the TrainJob are about {leader}; {others} are only in the runtime."
        draft.report(SEVERAL_ROLES, specs, text, target="TrainJob spec.trainer")
    if any(group.environment for group in draft.groups):
        text = "TF_CONFIG lists the current pods of the job."
        draft.report(FIXED_COUNTS, specs, text, target="TrainJob spec.trainer.numNodes")
    if not {CHIEF, MASTER, WORKER} & {*roles}:
        draft.report(NO_END, specs, f"a TFJob with only {', '.join(roles)} never succeeds in v1.")
    dynamic = ("spec", "enableDynamicWorker")
    if draft.job.spec.enable_dynamic_worker:
        draft.report(DYNAMIC, dynamic, "the TrainJob keeps the workers that it starts with.", dropped=True)
    else:
        draft.default(dynamic, "workers do not come and go")
