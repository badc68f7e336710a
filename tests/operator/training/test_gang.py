"""Gangs: the PodGroup of a job, its pods as members, and what happens when there can be none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICES
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS, PodGroup
from shunter.kube.controllers.plan import Create, Delete, Failure, Patch, Plan
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.gang import Gang, desired_spec, least_resources, member, names_another_scheduler, pod_groups
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure
from shunter.operator.training.replicas import desired_pods

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]
CREATED = {
    "conditions": [{"type": "Created", "status": "True", "reason": "PyTorchJobCreated", "message": "PyTorchJob bert is created."}]
}


def group(spec: Json | None = None, *, phase: str = "Running", owner: str = "u1", **metadata: Any) -> PodGroup:
    owners = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert", "uid": owner, "controller": True}]
    named = {"name": "bert", "namespace": "team-a", "uid": "g1", "ownerReferences": owners if owner else [], **metadata}
    return msgspec.convert({"metadata": named, "spec": spec or {}, "status": {"phase": phase}}, PodGroup)


def volcano(found: PodGroup | None = None, **more: Any) -> Gang:
    return Gang(scheduler="volcano", group=found, **more)


def looked(job: AnyJob, gang: Gang, now: datetime, **more: Any) -> Plan:
    return plan(PYTORCH, Observed(job=job, gang=gang, **more), now)


def kinds(made: Plan) -> list[str]:
    return [write.resource.kind for write in made.writes if isinstance(write, Create)]


def reasons(made: Plan) -> list[str]:
    return [note.reason for note in made.events]


@pytest.mark.parametrize(
    ("scheduler", "resource"),
    [("volcano", VOLCANO_POD_GROUPS), ("scheduler-plugins", COSCHEDULING_POD_GROUPS), ("any-other", COSCHEDULING_POD_GROUPS)],
)
def test_any_scheduler_but_volcano_reads_the_groups_of_coscheduling(scheduler: str, resource: object) -> None:
    assert pod_groups(scheduler) == resource


def test_a_job_without_gangs_makes_no_group(make_job: MakeJob, now: datetime) -> None:
    assert kinds(plan(PYTORCH, Observed(job=make_job()), now)) == ["Pod", "Pod", "Service", "Service"]


@pytest.mark.parametrize("scheduler", ["volcano", "coscheduler"])
def test_the_group_comes_first_and_pods_wait_until_it_is_there(scheduler: str, make_job: MakeJob, now: datetime) -> None:
    made = looked(make_job(), Gang(scheduler=scheduler), now)
    assert kinds(made) == ["PodGroup"]
    assert made.status is not None
    assert "lastReconcileTime" in made.status.desired
    assert "startTime" not in made.status.desired


@pytest.mark.parametrize(
    ("phase", "waits"), [("", True), ("Pending", True), ("Inqueue", False), ("Running", False), ("Unknown", False)]
)
def test_pods_wait_for_volcano_to_accept_the_group(phase: str, waits: bool, make_job: MakeJob, now: datetime) -> None:
    job = make_job()
    present = group(desired_spec(job, volcano()), phase=phase)
    assert ("Pod" not in kinds(looked(job, volcano(present), now))) is waits


def words(made: Plan) -> list[tuple[str, str]]:
    """Reason and message of each condition."""
    assert made.status is not None
    return [(one["reason"], one.get("message", "")) for one in made.status.desired["conditions"]]


def test_waiting_for_volcano_is_told_once_and_writes_nothing_then(make_job: MakeJob, now: datetime) -> None:
    job = make_job(status={**CREATED, "lastReconcileTime": "2026-11-21T11:00:00Z"})
    pending = volcano(group(desired_spec(job, volcano()), phase="Pending"))
    made = looked(job, pending, now)
    assert made.writes == ()
    assert words(made) == [("WaitingForPodGroup", "PyTorchJob bert is created. It waits for PodGroup bert: Pending, 0 of 2")]
    assert [(note.type, note.reason, note.message) for note in made.events] == [
        ("Normal", "WaitingForPodGroup", "PyTorchJob bert waits for PodGroup bert: Pending, 0 of 2")
    ]
    assert made.status is not None
    again = looked(make_job(status=made.status.desired), pending, now + timedelta(minutes=1))
    assert again.status is not None
    assert (again.writes, again.events, again.status.desired) == ((), (), again.status.observed)


def test_a_job_that_waits_says_how_many_of_its_gang_are_there(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """Its group is Pending again: where it has all its pods, it does not wait for it."""
    job = make_job({"Master": 1, "Worker": 2}, status={**CREATED, "startTime": "2026-11-21T11:00:00Z"})
    pending = volcano(group(desired_spec(job, volcano()), phase="Pending"))
    observed = msgspec.structs.replace(observe(job, {"bert-worker-1": ""}), gang=pending)
    assert words(plan(PYTORCH, observed, now))[0][1].endswith("waits for PodGroup bert: Pending, 2 of 3")
    assert words(plan(PYTORCH, msgspec.structs.replace(observe(job), gang=pending), now))[0][0] == "PyTorchJobCreated"


@pytest.mark.parametrize("then", ["admitted", "suspended", "too late", "without gangs"])
def test_a_job_that_waits_no_more_says_no_more_that_it_does(make_job: MakeJob, now: datetime, then: str) -> None:
    """And Created stays where it stands: the last condition is what `kubectl get` shows."""
    waits = {"type": "Created", "status": "True", "reason": "WaitingForPodGroup", "message": "PyTorchJob bert waits."}
    resumed = {"type": "Suspended", "status": "False", "reason": "PyTorchJobResumed"}
    status = {"conditions": [waits, resumed], "startTime": "2026-11-21T11:00:00Z"}
    policies: dict[str, Json] = {"suspended": {"suspend": True}, "too late": {"activeDeadlineSeconds": 1}}
    policy = policies.get(then, {})
    job = make_job(policy=policy, status=status)
    present = group(desired_spec(job, volcano()), phase="Inqueue" if then == "admitted" else "Pending")
    made = plan(PYTORCH, Observed(job=job, gang=None if then == "without gangs" else volcano(present)), now)
    assert words(made)[0] == ("PyTorchJobCreated", "PyTorchJob bert is created.")


def test_a_group_that_is_on_its_way_out_is_waited_for(make_job: MakeJob, now: datetime) -> None:
    going = group({"minMember": 2}, deletionTimestamp="2026-11-21T11:00:00Z", finalizers=["x"])
    assert words(looked(make_job(), volcano(going), now))[0][1].endswith("waits for PodGroup bert: Terminating, 0 of 2")


def test_coscheduling_is_not_waited_for(make_job: MakeJob, now: datetime) -> None:
    job = make_job()
    gang = Gang(scheduler="coscheduler")
    present = group(desired_spec(job, gang), phase="")
    assert kinds(looked(job, Gang(scheduler="coscheduler", group=present), now)) == ["Pod", "Pod", "Service", "Service"]


def test_members_say_their_group_and_scheduler_over_what_the_template_says(make_job: MakeJob) -> None:
    job = make_job()
    pod = desired_pods(PYTORCH, job)[1]
    pod["metadata"] = {**pod["metadata"], "annotations": {"scheduling.k8s.io/group-name": "mine", "own": "1"}}
    placed = member(pod, job, "Worker", volcano())
    assert placed["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "bert",
        "volcano.sh/task-spec": "worker",
        "own": "1",
    }
    assert placed["spec"]["schedulerName"] == "volcano"
    other = member(pod, job, "Worker", Gang(scheduler="coscheduler"))
    assert other["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "bert"
    assert other["spec"]["schedulerName"] == "coscheduler"


def test_another_scheduler_of_a_template_stays_and_is_warned_about(make_job: MakeJob, now: datetime) -> None:
    template = {"spec": {"schedulerName": "special", "containers": [{"name": "pytorch", "image": "i"}]}}
    job = make_job(role={"template": template})
    gang = volcano(group(desired_spec(job, volcano())))
    made = looked(job, gang, now)
    assert names_another_scheduler(job, gang)
    assert "SetPodTemplateSchedulerName" in reasons(made)
    assert {
        write.body["spec"].get("schedulerName")
        for write in made.writes
        if isinstance(write, Create) and write.resource.kind == "Pod"
    } == {"special"}


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        pytest.param({}, {"minMember": 3, "minResources": {}, "queue": "default"}, id="all pods, no requests"),
        pytest.param(
            {
                "minAvailable": 2,
                "queue": "gold",
                "priorityClass": "high",
                "minResources": {"cpu": "3"},
                "scheduleTimeoutSeconds": 9,
            },
            {"minMember": 2, "minResources": {"cpu": "3"}, "queue": "gold", "priorityClassName": "high"},
            id="what the policy says, but for the timeout",
        ),
        pytest.param({"minAvailable": 0}, {"minMember": 0, "minResources": {}, "queue": "default"}, id="an explicit nothing"),
    ],
)
def test_the_group_for_volcano_is_as_the_policy_says(policy: Json, wanted: Json, make_job: MakeJob) -> None:
    job = make_job({"Master": 1, "Worker": 2}, policy={"schedulingPolicy": policy})
    assert desired_spec(job, volcano()) == wanted


def test_the_group_for_coscheduling_has_the_timeout_and_no_queue(make_job: MakeJob) -> None:
    policy = {"schedulingPolicy": {"queue": "gold", "priorityClass": "high", "scheduleTimeoutSeconds": 9}}
    job = make_job({"Master": 1, "Worker": 2}, policy=policy)
    assert desired_spec(job, Gang(scheduler="x")) == {"minMember": 3, "scheduleTimeoutSeconds": 9}


def test_the_groups_own_queue_and_unknown_fields_stay(make_job: MakeJob, now: datetime) -> None:
    job = make_job(policy={"schedulingPolicy": {"queue": "gold"}})
    present = group({"minMember": 9, "queue": "silver", "minTaskMember": {"worker": 1}, "minResources": {}})
    (patch,) = [write for write in looked(job, volcano(present), now).writes if isinstance(write, Patch)]
    assert patch.patch == {"spec": {"minMember": 2}}


def test_requests_count_and_limits_only_where_nothing_is_requested(make_job: MakeJob) -> None:
    containers = [
        {"name": "pytorch", "image": "i", "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "9Gi"}}},
        {"name": "side", "image": "i", "resources": {"limits": {"memory": "100Mi"}}},
    ]
    first = [{"name": "prepare", "image": "i", "resources": {"requests": {"cpu": "9"}}}]
    job = make_job({"Master": 1, "Worker": 2}, role={"template": {"spec": {"containers": containers, "initContainers": first}}})
    assert least_resources(job, 3) == {"cpu": "1500m", "memory": "300Mi"}
    assert least_resources(job, 1) == {"cpu": "500m", "memory": "100Mi"}


@pytest.mark.parametrize(
    ("gang", "remedy"),
    [
        pytest.param(volcano(is_served=False), "Install Volcano", id="no such kind"),
        pytest.param(volcano(group(owner="somebody")), "belongs to PyTorchJob bert", id="another's group of the name"),
    ],
)
def test_a_job_that_can_have_no_group_says_why_and_waits(gang: Gang, remedy: str, make_job: MakeJob, now: datetime) -> None:
    made = looked(make_job(), gang, now)
    assert made.writes == ()
    assert made.status is not None
    (condition,) = made.status.desired["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Created", "True", "PyTorchJobPodGroupMissing")
    assert remedy in condition["message"]
    assert reasons(made) == ["PyTorchJobPodGroupMissing"]
    again = looked(make_job(status=made.status.desired), gang, now)
    assert again.events == ()
    assert again.status is not None
    assert again.status.observed == again.status.desired


REFUSAL = 'PodGroup.scheduling.volcano.sh "bert" is invalid: spec.minMember: Invalid value: 0: should be at least 1'


def refused(observed: Observed, write: Create | Patch, now: datetime) -> Plan:
    return plan_failure(PYTORCH, observed, Failure(write, 422, "Invalid", REFUSAL), now)


def test_a_new_job_whose_group_is_refused_says_so(make_job: MakeJob, now: datetime) -> None:
    observed = Observed(job=make_job(), gang=volcano())
    (write,) = plan(PYTORCH, observed, now).writes
    assert isinstance(write, Create)
    made = refused(observed, write, now)
    assert made.status is not None
    (condition,) = made.status.desired["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Created", "False", "PyTorchJobPodGroupRefused")
    assert condition["message"].endswith(REFUSAL)


def test_a_job_that_runs_ends_although_the_change_of_its_group_is_refused(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    job = make_job(policy={"schedulingPolicy": {"minAvailable": 0}}, status={"startTime": "2026-11-21T11:00:00Z"})
    ended = msgspec.structs.replace(observe(job, {"*": "Succeeded"}), gang=volcano(group()))
    write = plan(PYTORCH, ended, now).writes[-1]
    assert isinstance(write, Patch)
    assert write.failed is not None, "an event tells of it"
    made = refused(ended, write, now)
    assert made.status is not None
    assert "Succeeded" in [one["type"] for one in made.status.desired["conditions"]]


def test_a_job_goes_on_when_the_kind_has_come(make_job: MakeJob, now: datetime) -> None:
    waiting = looked(make_job(), volcano(is_served=False), now).status
    assert waiting is not None
    made = looked(make_job(status=waiting.desired), volcano(), now)
    assert kinds(made) == ["PodGroup"]
    assert made.status is not None
    assert [one["reason"] for one in made.status.desired["conditions"]] == ["PyTorchJobCreated"]


def test_a_group_that_is_going_is_left_to_go_and_pods_wait_for_the_next(make_job: MakeJob, now: datetime) -> None:
    going = group(deletionTimestamp="2026-11-21T11:00:00Z", finalizers=["x"])
    made = looked(make_job(), volcano(going), now)
    assert made.writes == ()


@pytest.mark.parametrize("ending", ["suspended", "limit", "finished"])
def test_the_group_goes_when_the_job_has_nothing_to_place(
    ending: str, make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    policies: dict[str, Json] = {"suspended": {"suspend": True}, "limit": {"activeDeadlineSeconds": 1}}
    policy = policies.get(ending, {})
    status: Json = {"startTime": "2026-11-21T10:00:00Z", **CREATED}
    if ending == "finished":
        status = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:00:00Z"}
    before = make_job(policy=policy, status=status)
    if ending == "suspended":
        status = {**status, "conditions": [*CREATED["conditions"], {"type": "Suspended", "status": "True"}]}
    job = make_job(policy=policy, status=status)
    observed = msgspec.structs.replace(observe(job), gang=volcano(group()))
    made = plan(PYTORCH, observed, now)
    deleted = [write for write in made.writes if isinstance(write, Delete) and write.ref.resource == VOLCANO_POD_GROUPS]
    assert [write.ref.uid for write in deleted] == ["g1"]
    assert deleted[0].succeeded is not None
    assert deleted[0].succeeded.message == "Deleted PodGroup: bert"
    assert "JobTerminated" in reasons(made)
    gone = plan(PYTORCH, msgspec.structs.replace(observed, job=before, gang=volcano()), now)
    assert ("JobTerminated" in reasons(gone)) is (ending != "finished")


@pytest.mark.parametrize("owner", ["", "somebody"])
@pytest.mark.parametrize("state", ["Suspended", "Succeeded"])
def test_anothers_group_is_never_deleted(owner: str, state: str, make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """Nor one that nobody owns, which stands in."""
    status = {"conditions": [{"type": state, "status": "True"}], "completionTime": "2026-11-21T11:00:00Z"}
    job = make_job(policy={"suspend": state == "Suspended", "cleanPodPolicy": "All"}, status=status)
    writes = plan(PYTORCH, msgspec.structs.replace(observe(job), gang=volcano(group(owner=owner))), now).writes
    assert {write.ref.resource for write in writes if isinstance(write, Delete)} == {PODS, SERVICES}
