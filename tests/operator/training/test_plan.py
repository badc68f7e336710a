"""The life of a job as one plan: what it gets, when it ends, what is refused, and what a second look changes (nothing)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from plan_texts import created, deleted, states
from shunter.api.core import Pod
from shunter.api.meta import Json, rfc3339
from shunter.api.training.job import JobCondition
from shunter.kube.controllers.plan import NOTHING, Create, Failure, Plan
from shunter.operator.training.children import children_of
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


def test_nothing_is_made_any_more_in_the_look_in_which_a_job_ends(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """A worker would wait for its Master for ever, and one that is refused would keep the job from ending."""
    job = make_job(status={"startTime": "2026-11-21T11:00:00Z"})
    made = plan(PYTORCH, observe(job, {"bert-master-0": "Succeeded", "bert-worker-0": ""}), now)
    assert (created(made), states(made)) == ([], ["Created=True", "Succeeded=True"])


@pytest.mark.parametrize(
    ("phases", "status", "allowed"),
    [({"*": ""}, {}, True), ({"*": ""}, {"startTime": "2026-11-21T11:00:00Z"}, False), ({"bert-worker-0": ""}, {}, False)],
    ids=["new", "started before", "has a pod"],
)
def test_only_a_status_that_tells_no_more_than_that_all_was_made_may_wait(
    make_job: MakeJob, observe: Observe, now: datetime, phases: dict[str, str], status: Json, allowed: bool
) -> None:
    assert plan(PYTORCH, observe(make_job(status=status), phases), now).may_status_wait is allowed


def test_a_job_whose_first_status_waited_started_with_its_pods(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    observed = observe(job := make_job(policy={"activeDeadlineSeconds": 100}))
    made = rfc3339(now - timedelta(seconds=7))
    pods = [
        msgspec.convert(
            {**msgspec.to_builtins(pod), "metadata": {**msgspec.to_builtins(pod.metadata), "creationTimestamp": made}}, Pod
        )
        for pod in observed.children.pods
    ]
    first = plan(PYTORCH, msgspec.structs.replace(observed, children=children_of(job, pods, observed.children.services)), now)
    assert first.status is not None
    assert first.status.desired["startTime"] == made
    assert first.requeue_after == 93


def test_a_job_that_ends_before_its_first_status_gets_no_further_pods(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job(), {"bert-master-0": "Succeeded", "bert-worker-0": ""}), now)
    assert "Succeeded=True" in states(made)
    assert not [write for write in made.writes if isinstance(write, Create)]


FINISHED = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:59:50Z"}


def test_what_ran_at_the_end_counts_as_succeeded(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    status = {**FINISHED, "replicaStatuses": {"Worker": {"active": 2, "succeeded": 1}}}
    made = plan(PYTORCH, observe(make_job(status=status)), now)
    assert made.status is not None
    assert made.status.desired["replicaStatuses"] == {"Worker": {"succeeded": 3}}


ONES = {"suspended": {"suspend": True}, "finished": {"cleanPodPolicy": "All"}, "scaled in": {}}


@pytest.mark.parametrize("why", ONES)
def test_a_service_that_nobody_owns_stands_in_and_is_never_deleted(
    make_job: MakeJob, observe: Observe, now: datetime, why: str
) -> None:
    """A user made it, with the labels of the job's."""
    status = {"suspended": {"conditions": [{"type": "Suspended", "status": "True"}]}, "finished": FINISHED}.get(why, {})
    there = observe(make_job({"Worker": 2})).children
    orphan = there.services[1]
    orphan = msgspec.structs.replace(orphan, metadata=msgspec.structs.replace(orphan.metadata, owner_references=()))
    job = make_job({"Worker": 1}, policy=ONES[why], status=status)
    made = plan(PYTORCH, Observed(job=job, children=children_of(job, there.pods, (there.services[0], orphan))), now)
    assert "Pod/bert-worker-1" in deleted(made)
    assert [name for name in deleted(made) if name.startswith("Service")] == [
        *(["Service/bert-worker-0"] if why != "scaled in" else [])
    ]
    again = make_job({"Worker": 2})
    made = plan(PYTORCH, Observed(job=again, children=children_of(again, there.pods, (there.services[0], orphan))), now)
    assert created(made) == [], "it stands in"


def test_jobs_of_others_and_jobs_that_go_are_left_alone(make_job: MakeJob, now: datetime) -> None:
    of_kueue = make_job(policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    going = make_job(metadata={"deletionTimestamp": "2026-11-21T11:59:00Z"})
    assert plan(PYTORCH, Observed(job=of_kueue), now) == NOTHING
    assert plan(PYTORCH, Observed(job=going), now) == NOTHING


def refused(observed: Observed, now: datetime) -> Plan:
    """What comes of the plan when its first creation exceeds a quota."""
    write = next(write for write in plan(PYTORCH, observed, now).writes if isinstance(write, Create))
    return plan_failure(PYTORCH, observed, Failure(write, 403, "Forbidden", "exceeded quota"), now)


def test_a_job_whose_pods_are_refused_is_created_and_has_not_started(make_job: MakeJob, now: datetime) -> None:
    made = refused(Observed(job=make_job()), now)
    assert (states(made), made.writes) == (["Created=True"], ())
    assert made.status is not None
    assert "startTime" not in made.status.desired


def test_half_a_gang_is_counted_and_its_deadline_runs(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """A quota ends half way: what is there may hold GPUs for ever."""
    job = make_job({"Master": 1, "Worker": 3}, policy={"activeDeadlineSeconds": 60})
    made = refused(observe(job, {"bert-worker-1": "", "bert-worker-2": ""}), now)
    assert states(made) == ["Created=True", "Running=True"]
    assert made.status is not None
    assert made.status.desired["startTime"] == "2026-11-21T12:00:00Z"
    assert made.status.desired["replicaStatuses"]["Worker"]["active"] == 1
    later = make_job({"Master": 1, "Worker": 3}, policy={"activeDeadlineSeconds": 60}, status=made.status.desired)
    again = refused(observe(later, {"bert-worker-1": "", "bert-worker-2": ""}), now + timedelta(seconds=30))
    assert again.status is not None
    assert (again.status.desired, again.events) == (again.status.observed, ())
    assert states(plan(PYTORCH, observe(later), now + timedelta(seconds=60)))[-1] == "Failed=True"


def test_a_plan_of_a_plan_changes_nothing(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """Level-triggered: what is as it should be stays."""
    first = plan(PYTORCH, observe(make_job()), now)
    assert first.status is not None
    second = plan(PYTORCH, observe(make_job(status=first.status.desired)), now + timedelta(hours=1))
    assert second.status is not None
    assert (second.writes, second.events, second.status.desired) == ((), (), first.status.desired)


def test_conditions_of_a_job_carry_their_times(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job()), now)
    assert made.status is not None
    condition = msgspec.convert(made.status.desired["conditions"][0], JobCondition)
    assert condition.last_transition_time == now
