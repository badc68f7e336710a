"""Gang scheduling: runPolicy.schedulingPolicy, and the scheduler that is set only in the v1 operator's options."""

from __future__ import annotations

from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.scheduling.podgroups import VOLCANO_QUEUE, VOLCANO_SCHEDULER
from shunter.api.training.job import SchedulingPolicy
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
_NONE = "none"
_COSCHEDULING = "coscheduling:"
_POLICY: Path = ("spec", "runPolicy", "schedulingPolicy")

NO_SCHEDULER = Topic(
    id="GANG001",
    title="the job needs gang scheduling, but no scheduler is named",
    severity="error",
    change="lossy",
    grade="L",
    explanation=(
        "In v1 gang scheduling is set on the operator (--gang-scheduler-name), so no manifest shows it. In v2 each runtime "
        "names its scheduler. Without one, pods are scheduled one by one, and two jobs may wait for each other forever."
    ),
    remedy=(
        "Check the arguments of the v1 operator's Deployment, then convert with --gang volcano or --gang "
        "coscheduling:SCHEDULER. If they name no scheduler, v1 ignored schedulingPolicy: suppress with --accept GANG001."
    ),
    acceptable=True,
)
PART_OF_A_GANG = Topic(
    id="GANG002",
    title="minAvailable is not the number of pods",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "v1 starts the job as soon as minAvailable pods fit. In v2 a gang always consists of all pods of the job: the job waits "
        "until all of them fit."
    ),
    remedy="Suppress with --accept GANG002 if all pods fit on the cluster at once; otherwise reduce the number of replicas.",
    effort=3,
    acceptable=True,
)
OWN_RESOURCES = Topic(
    id="GANG003",
    title="minResources is computed in v2",
    severity="warning",
    other_impact="blocking",
    change="lossy",
    grade="L",
    explanation=(
        "The PodGroup of a TrainJob requests the sum of the requests of all its pods, including init containers and sidecars."
    ),
    remedy="Compare the sum of the pods' requests with minResources, then suppress with --accept GANG003.",
    acceptable=True,
)
PRIORITY = Topic(
    id="GANG004",
    title="the priority of the gang becomes the priority of its pods",
    severity="warning",
    other_impact="blocking",
    change="semantic-change",
    grade="D",
    explanation=(
        "In v1 schedulingPolicy.priorityClass is the priority of the PodGroup alone. Trainer takes a PodGroup's priority from "
        "the pods, so the pods get the class: the kubelet and the scheduler then use it too, and pods of lower priority may be "
        "preempted for them. If the class does not exist, admission rejects the TrainJob."
    ),
    remedy="Suppress with --accept GANG004 if the pods may have this priority; otherwise remove priorityClass from the source.",
    explains=("spec.priorityClassName",),
    acceptable=True,
)
SMALLER_GANG = Topic(
    id="GANG005",
    title="the gang counts one Job of each group",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "Trainer counts the members of a gang by the pods of each replicated job, not by its replicas. A group that needs a "
        "separate Job for each pod counts as one member, so the scheduler may start the job before all pods fit."
    ),
    remedy="Use the same template for all roles, so that they form one group.",
    effort=3,
)
KUEUE_CLASS = Topic(
    id="GANG006",
    title="the priority class becomes Kueue's label",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "Kueue took the priority of a v1 job's workload from schedulingPolicy.priorityClass. For a TrainJob it uses the label "
        "kueue.x-k8s.io/priority-class, which names a WorkloadPriorityClass."
    ),
    remedy="Create a WorkloadPriorityClass of this name if none exists.",
)


def apply(draft: Draft) -> None:
    """Sets schedulerName and podGroupPolicy for the scheduler of `--gang`. Without one a schedulingPolicy of the job is
    reported."""
    scheduler = draft.options.gang
    _move_kueue_priority(draft)
    if scheduler == _NONE:
        if draft.job.run_policy.scheduling_policy is not None:
            _report_without_scheduler(draft)
        return
    is_volcano = scheduler == VOLCANO_SCHEDULER
    for group in draft.groups:
        _fill_in(draft, group, "schedulerName", scheduler.removeprefix(_COSCHEDULING))
    draft.runtime["podGroupPolicy"] = {"volcano": {}} if is_volcano else {"coscheduling": {}}
    counted_short = [group.name for group in draft.groups if group.replicas > 1]
    if counted_short:
        draft.report(SMALLER_GANG, (), f"Of {', '.join(counted_short)} only one Job each counts for the gang.")
    policy = draft.job.run_policy.scheduling_policy
    if policy is None:
        return
    _account_for_size(draft, policy)
    if is_volcano:
        _set_volcano(draft, policy)
    else:
        _set_coscheduling(draft, policy)


def _report_without_scheduler(draft: Draft) -> None:
    given = draft.given(_POLICY)
    rest = [field for field in given if draft.is_given((*_POLICY, field)) and not draft.ledger.row((*_POLICY, field))]
    if rest:
        draft.report(
            NO_SCHEDULER, _POLICY, f"schedulingPolicy says {', '.join(rest)}, and no gang scheduler was named.", dropped=True
        )


def _account_for_size(draft: Draft, policy: SchedulingPolicy) -> None:
    path, pods = (*_POLICY, "minAvailable"), draft.job.total_replicas
    if policy.min_available == pods:
        draft.default(path, "a gang is all pods of the job")
    elif policy.min_available is not None:
        draft.report(PART_OF_A_GANG, path, f"minAvailable is {policy.min_available}, and the job has {pods} pods.", dropped=True)
    draft.report_if_given(OWN_RESOURCES, (*_POLICY, "minResources"), "The gang's resources are the sum of its pods' requests.")


def _set_volcano(draft: Draft, policy: SchedulingPolicy) -> None:
    if policy.queue:
        draft.jobset_annotations[VOLCANO_QUEUE] = policy.queue
        target = ("spec", "template", "metadata", "annotations", VOLCANO_QUEUE)
        draft.carry((*_POLICY, "queue"), "TrainingRuntime", target)
    else:
        draft.default((*_POLICY, "queue"), "Volcano's default queue")
    draft.default((*_POLICY, "scheduleTimeoutSeconds"), "Volcano does not read it")
    path = (*_POLICY, "priorityClass")
    if not policy.priority_class or draft.ledger.row(path) is not None:
        return
    for group in draft.groups:
        own = _fill_in(draft, group, "priorityClassName", policy.priority_class)
    place = (*draft.pod_template_path(draft.groups[-1]), "spec", "priorityClassName")
    draft.carry(path, "TrainingRuntime", place, "" if own == policy.priority_class else "the pods' own class counts")
    draft.report(PRIORITY, path, f"The pods get the priority class {policy.priority_class}.")


def _fill_in(draft: Draft, group: Group, field: str, value: str) -> str:
    """What the pods say; if that is nothing or empty, they say `value` now. v1's operator took empty for nothing as well."""
    spec = group.pod["spec"]
    if field in spec and not spec[field]:
        draft.changed(group, ("spec", field), "empty is none")
    spec[field] = spec.get(field) or value
    return str(spec[field])


def _set_coscheduling(draft: Draft, policy: SchedulingPolicy) -> None:
    for field in ("queue", "priorityClass"):
        if draft.ledger.row((*_POLICY, field)) is None:
            draft.default((*_POLICY, field), "coscheduling does not read it")
    if policy.schedule_timeout_seconds is not None:
        draft.runtime["podGroupPolicy"]["coscheduling"]["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
        target = ("spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds")
        draft.carry((*_POLICY, "scheduleTimeoutSeconds"), "TrainingRuntime", target)


def _move_kueue_priority(draft: Draft) -> None:
    """Kueue's first choice for the priority of a v1 job's workload."""
    policy = draft.job.run_policy.scheduling_policy
    labels = draft.source.metadata.get("labels") or {}
    if policy is None or not policy.priority_class or QUEUE_LABEL not in labels:
        return
    path = (*_POLICY, "priorityClass")
    draft.train_job["metadata"].setdefault("labels", {}).setdefault(KUEUE_PRIORITY, policy.priority_class)
    note = "" if labels.get(KUEUE_PRIORITY, policy.priority_class) == policy.priority_class else "the job's own label counts"
    draft.carry(path, "TrainJob", ("metadata", "labels", KUEUE_PRIORITY), note)
    draft.report(KUEUE_CLASS, path, f"{policy.priority_class} is in the label {KUEUE_PRIORITY} of the TrainJob.")
