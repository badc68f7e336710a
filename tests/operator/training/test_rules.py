"""The rules of a job's life, one by one: restarts, limits, clean-up, suspend, time to live."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.meta import Json, rfc3339
from shunter.api.training.job import JobCondition
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Plan
from shunter.operator.training.children import Children, children_of
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure
from shunter.operator.training.policies import backoff, deadline, restart, ttl

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


def deleted(made: Plan) -> list[str]:
    return [f"{write.ref.resource.kind}/{write.ref.name}" for write in made.writes if isinstance(write, Delete)]


def created(made: Plan) -> list[str]:
    return [f"{write.resource.kind}/{write.body['metadata']['name']}" for write in made.writes if isinstance(write, Create)]


def states(made: Plan) -> list[str]:
    assert made.status is not None
    return [f"{condition['type']}={condition['status']}" for condition in made.status.wanted.get("conditions", [])]


def reasons(made: Plan) -> list[str]:
    return [event.reason for event in made.events]


@pytest.mark.parametrize(
    ("policy", "code", "wanted"),
    [
        ("OnFailure", 1, "replace"),
        ("Always", 1, "replace"),
        ("Never", 1, "none"),
        ("ExitCode", 1, "fail"),
        ("ExitCode", 127, "fail"),
        ("ExitCode", 128, "replace"),
        ("ExitCode", 137, "replace"),
        ("ExitCode", None, "replace"),
    ],
)
def test_a_failed_pod_is_replaced_or_fails_the_job_by_policy_and_exit_code(policy: str, code: int | None, wanted: str) -> None:
    statuses = [] if code is None else [{"name": "pytorch", "state": {"terminated": {"exitCode": code}}}]
    pod = msgspec.convert({"metadata": {"name": "p"}, "status": {"phase": "Failed", "containerStatuses": statuses}}, Pod)
    assert restart.consequence(pod, policy, "pytorch") == wanted


def test_a_failed_pod_that_is_being_deleted_is_left_alone() -> None:
    pod = msgspec.convert(
        {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Failed"}}, Pod
    )
    assert restart.consequence(pod, "OnFailure", "pytorch") == "none"


def test_a_failed_worker_is_replaced_and_the_job_restarts(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job(), {"bert-worker-0": "Failed"}), now)
    assert deleted(made) == [], "told first"
    assert states(made) == ["Created=True", "Restarting=True"]
    assert reasons(made) == ["RankFailed", "ExitedWithCode", "PyTorchJobRestarting", "PyTorchJobRestarting"]
    assert made.status is not None
    again = plan(PYTORCH, observe(make_job(status=made.status.wanted), {"bert-worker-0": "Failed"}), now)
    assert (deleted(again), reasons(again)) == (["Pod/bert-worker-0"], [])


def test_a_permanent_exit_code_fails_the_job_with_a_completion_time(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """No restart is announced, and the time to live can count."""
    made = plan(PYTORCH, observe(make_job(role={"restartPolicy": "ExitCode"}), {"bert-worker-0": "Failed"}, exit_code=2), now)
    assert made.status is not None
    assert states(made) == ["Created=True", "Failed=True"]
    assert made.status.wanted["completionTime"] == "2026-11-21T12:00:00Z"
    assert reasons(made) == ["RankFailed", "ExitedWithCode", "PyTorchJobFailed"]


def test_exits_are_told_once(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    status = {"replicaStatuses": {"Master": {"active": 1}, "Worker": {"succeeded": 1}}}
    made = plan(PYTORCH, observe(make_job(status=status), {"bert-worker-0": "Succeeded"}), now)
    assert "ExitedWithCode" not in reasons(made)


def test_nothing_is_made_any_more_in_the_look_in_which_a_job_ends(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """A worker would wait for its Master for ever, and one that is refused would keep the job from ending."""
    job = make_job(status={"startTime": "2026-11-21T11:00:00Z"})
    made = plan(PYTORCH, observe(job, {"bert-master-0": "Succeeded", "bert-worker-0": ""}), now)
    assert (created(made), states(made)) == ([], ["Created=True", "Succeeded=True"])


@pytest.mark.parametrize(
    ("limit", "restarts", "policy", "wanted"),
    [
        (None, 99, "OnFailure", False),
        (0, 0, "OnFailure", False),
        (0, 1, "OnFailure", True),
        (3, 1, "OnFailure", False),
        (4, 2, "OnFailure", True),
        (1, 9, "Never", False),
    ],
)
def test_restarts_of_running_pods_count_against_the_limit(
    make_job: MakeJob, observe: Observe, limit: int | None, restarts: int, policy: str, wanted: bool
) -> None:
    """Two pods, each with so many restarts."""
    job = make_job(role={"restartPolicy": policy}, policy={} if limit is None else {"backoffLimit": limit})
    assert backoff.is_exceeded(job, observe(job, restarts=restarts).children) is wanted


def test_a_job_beyond_its_limit_tells_how_its_containers_ended_before_they_are_gone(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    job = make_job({"Master": 1}, policy={"backoffLimit": 1})
    (pod,) = observe(job, restarts=1).children.pods
    (container,) = pod.status.container_statuses
    before = msgspec.convert({"terminated": {"exitCode": 3}}, type(container.state))
    ended = msgspec.structs.replace(container, last_state=before)
    pod = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, container_statuses=(ended,)))
    made = plan(PYTORCH, Observed(job=job, children=Children((pod,))), now)
    assert [event.message for event in made.events] == [
        "rank 0, pod bert-master-0, container pytorch: Error, exit code 3",
        "Pod: team-a.bert-master-0 exited with code 3",
        "Job bert has failed because it has reached the specified backoff limit",
    ]


def test_restarts_of_pending_pods_do_not_count(make_job: MakeJob, observe: Observe) -> None:
    job = make_job(policy={"backoffLimit": 1})
    assert not backoff.is_exceeded(job, observe(job, {"*": "Pending"}, restarts=5).children)


def test_with_no_restart_allowed_a_new_failed_pod_ends_the_job(make_job: MakeJob, observe: Observe) -> None:
    job = make_job(policy={"backoffLimit": 0})
    assert backoff.is_exceeded(job, observe(job, {"bert-worker-0": "Failed"}).children)


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
    assert first.status.wanted["startTime"] == made
    assert first.requeue_after == 93


def test_a_job_that_ends_before_its_first_status_gets_no_further_pods(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job(), {"bert-master-0": "Succeeded", "bert-worker-0": ""}), now)
    assert "Succeeded=True" in states(made)
    assert not [write for write in made.writes if isinstance(write, Create)]


def test_a_job_past_its_deadline_fails_and_one_before_comes_back_in_time(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    started = (now - timedelta(seconds=40)).isoformat()
    late = make_job(policy={"activeDeadlineSeconds": 40}, status={"startTime": started})
    assert states(plan(PYTORCH, observe(late), now)) == ["Created=True", "Failed=True"]
    early = make_job(policy={"activeDeadlineSeconds": 100}, status={"startTime": started})
    assert plan(PYTORCH, observe(early), now).requeue_after == 60
    assert deadline.remaining(make_job(policy={"activeDeadlineSeconds": 1}), now) is None


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_a_deadline_beyond_all_calendars_is_none_that_matters(
    make_job: MakeJob, observe: Observe, now: datetime, seconds: int
) -> None:
    job = make_job(policy={"activeDeadlineSeconds": seconds}, status={"startTime": now.isoformat()})
    made = plan(PYTORCH, observe(job), now)
    assert states(made) == ["Created=True", "Running=True"]
    assert made.requeue_after == float(seconds)


FINISHED = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:59:50Z"}


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("None", []),
        ("Running", ["Pod/bert-worker-0", "Service/bert-worker-0"]),
        ("All", ["Pod/bert-master-0", "Pod/bert-worker-0", "Service/bert-master-0", "Service/bert-worker-0"]),
        ("Perhaps", ["Pod/bert-master-0", "Pod/bert-worker-0", "Service/bert-master-0", "Service/bert-worker-0"]),
    ],
)
def test_a_finished_job_keeps_what_its_policy_says(
    make_job: MakeJob, observe: Observe, now: datetime, policy: str, wanted: list[str]
) -> None:
    job = make_job(policy={"cleanPodPolicy": policy}, status=FINISHED)
    assert deleted(plan(PYTORCH, observe(job, {"bert-master-0": "Succeeded"}), now)) == wanted


def test_clean_up_goes_on_after_it_was_interrupted_between_pod_and_service(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    job = make_job(policy={"cleanPodPolicy": "All"}, status=FINISHED)
    made = plan(PYTORCH, observe(job, {"*": ""}), now)
    assert deleted(made) == ["Service/bert-master-0", "Service/bert-worker-0"]


def test_what_ran_at_the_end_counts_as_succeeded(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    status = {**FINISHED, "replicaStatuses": {"Worker": {"active": 2, "succeeded": 1}}}
    made = plan(PYTORCH, observe(make_job(status=status)), now)
    assert made.status is not None
    assert made.status.wanted["replicaStatuses"] == {"Worker": {"succeeded": 3}}


def test_a_finished_job_is_deleted_when_its_time_is_over(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """It completed 10 seconds ago."""
    over = plan(PYTORCH, observe(make_job(policy={"ttlSecondsAfterFinished": 10}, status=FINISHED)), now)
    assert deleted(over) == ["PyTorchJob/bert"]
    later = plan(PYTORCH, observe(make_job(policy={"ttlSecondsAfterFinished": 25}, status=FINISHED)), now)
    assert (deleted(later), later.requeue_after) == ([], 15)
    assert ttl.remaining(make_job(policy={"ttlSecondsAfterFinished": 1, "suspend": True}, status=FINISHED), now) is None


def test_fewer_workers_lose_the_pods_and_services_of_the_highest_indices(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    there = observe(make_job({"Worker": 3}))
    made = plan(PYTORCH, Observed(job=make_job({"Worker": 1}), children=there.children), now)
    wanted = ["Pod/bert-worker-1", "Pod/bert-worker-2", "Service/bert-worker-1", "Service/bert-worker-2"]
    assert sorted(deleted(made)) == wanted


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
    assert "startTime" not in made.status.wanted


def test_half_a_gang_is_counted_and_its_deadline_runs(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """A quota ends half way: what is there may hold GPUs for ever."""
    job = make_job({"Master": 1, "Worker": 3}, policy={"activeDeadlineSeconds": 60})
    made = refused(observe(job, {"bert-worker-1": "", "bert-worker-2": ""}), now)
    assert states(made) == ["Created=True", "Running=True"]
    assert made.status is not None
    assert made.status.wanted["startTime"] == "2026-11-21T12:00:00Z"
    assert made.status.wanted["replicaStatuses"]["Worker"]["active"] == 1
    later = make_job({"Master": 1, "Worker": 3}, policy={"activeDeadlineSeconds": 60}, status=made.status.wanted)
    again = refused(observe(later, {"bert-worker-1": "", "bert-worker-2": ""}), now + timedelta(seconds=30))
    assert again.status is not None
    assert (again.status.wanted, again.events) == (again.status.observed, ())
    assert states(plan(PYTORCH, observe(later), now + timedelta(seconds=60)))[-1] == "Failed=True"


def test_a_plan_of_a_plan_changes_nothing(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """Level-triggered: what is as it should be stays."""
    first = plan(PYTORCH, observe(make_job()), now)
    assert first.status is not None
    second = plan(PYTORCH, observe(make_job(status=first.status.wanted)), now + timedelta(hours=1))
    assert second.status is not None
    assert (second.writes, second.events, second.status.wanted) == ((), (), first.status.wanted)


def test_conditions_of_a_job_carry_their_times(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job()), now)
    assert made.status is not None
    condition = msgspec.convert(made.status.wanted["conditions"][0], JobCondition)
    assert condition.last_transition_time == now
