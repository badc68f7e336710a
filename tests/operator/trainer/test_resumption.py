"""A suspended job gives its nodes back whatever else fails, and comes back when none of its pods is left, where it is to run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, JOBSETS
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, PodGroup
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Apply, Delete, Failure, Patch, Plan, Ref, Write
from shunter.operator.trainer.plan import Observed, plan, plan_failure
from shunter.operator.trainer.plugins import COMPANIONS
from shunter.operator.trainer.render import rendered
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.statusserver.place import StatusServerPlace
from shunter.operator.trainer.views import ConfigMap, JobOfSet, LiveJobSet

MakeTrainJob = Callable[..., TrainJob]
MakeRuntime = Callable[..., Json]

SUSPENSION = Patch(ref=Ref(JOBSETS, "team-a", "mnist", "j1"), patch={"spec": {"suspend": True}})
SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "Suspended",
    "message": "TrainJob is suspended",
    "lastTransitionTime": "2026-11-21T11:30:00Z",
}


def jobset(
    *, suspend: bool = True, active: int = 0, deleted: bool = False, status: Json | None = None, **spec: Any
) -> LiveJobSet:
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    metadata: Json = {"name": "mnist", "namespace": "team-a", "uid": "j1", "ownerReferences": [owner]}
    if deleted:
        metadata["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    counts = [{"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": active, "suspended": 0}]
    body = {
        "metadata": metadata,
        "spec": {"suspend": suspend, **spec},
        "status": {"replicatedJobsStatus": counts, **(status or {})},
    }
    return msgspec.convert(body, LiveJobSet)


def one_job(
    name: str = "mnist-node-0",
    *,
    suspend: bool = True,
    conditions: tuple[str, ...] = ("Suspended",),
    deleted: bool = False,
    pods: Json | None = None,
    **status: int,
) -> JobOfSet:
    """A Job of the replicated job `node`; `pods` is the spec of its pod template."""
    metadata: Json = {"name": name, "namespace": "team-a", "labels": {"jobset.sigs.k8s.io/replicatedjob-name": "node"}}
    if deleted:
        metadata["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    stated = [{"type": one, "status": "True"} for one in conditions]
    body = {
        "metadata": metadata,
        "spec": {"suspend": suspend, "template": {"spec": pods or {}}},
        "status": {"conditions": stated, **status},
    }
    return msgspec.convert(body, JobOfSet)


def observed(job: TrainJob, runtime: Json, live: LiveJobSet | None, *jobs: JobOfSet, **more: Any) -> Observed:
    body = snapshot_of(job, runtime)
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    kept = msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}, ConfigMap)
    return Observed(job=job, jobset=live, jobs=jobs, **{"snapshot": kept, **more})


def about_jobset(made: Plan) -> list[Write]:
    return [
        write
        for write in made.writes
        if (write.resource if isinstance(write, Apply) else write.ref.resource) == JOBSETS  # type: ignore[union-attr]
    ]


def conditions(made: Plan) -> dict[str, tuple[str, str]]:
    """Status and message by type."""
    assert made.status is not None
    return {item["type"]: (item["status"], item["message"]) for item in made.status.desired.get("conditions", [])}


def resumed(made: Plan) -> bool:
    """Whether the JobSet is applied as one that runs."""
    found: list[Write | None] = [*about_jobset(made)] or [None]
    (write,) = found
    return isinstance(write, Apply) and write.body["spec"]["suspend"] is False


# Suspending


def test_the_jobset_is_suspended_by_the_first_write(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    made = plan(observed(make_trainjob(suspend=True), runtime, jobset(suspend=False, active=1)), now)
    assert made.writes[0] == SUSPENSION
    assert [write.resource for write in made.writes[1:] if isinstance(write, Apply)] == [COSCHEDULING_POD_GROUPS, JOBSETS]


@pytest.mark.parametrize(
    "obstacle",
    [
        pytest.param({"snapshot": None}, id="the runtime is gone, and the snapshot with it"),
        pytest.param({"uninstalled": frozenset({COSCHEDULING_POD_GROUPS})}, id="the gang scheduler is gone"),
        pytest.param({"status_server": StatusServerPlace("https://a", "")}, id="nobody knows the status server's authority yet"),
    ],
)
def test_a_job_of_which_nothing_can_be_made_any_more_is_suspended_all_the_same(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, obstacle: Json
) -> None:
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    made = plan(observed(make_trainjob(suspend=True), runtime, jobset(suspend=False, active=1), **obstacle), now)
    assert made.writes == (SUSPENSION,)
    assert conditions(made)["Suspended"][0] == "True"


def test_a_suspended_jobset_is_not_suspended_again(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    made = plan(observed(make_trainjob(suspend=True), make_runtime(), jobset()), now)
    assert [type(write) for write in made.writes] == [Apply]


def test_a_job_whose_jobset_could_not_be_suspended_does_not_say_that_it_is(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    seen = observed(make_trainjob(suspend=True), make_runtime(), jobset(suspend=False, active=1))
    made = plan_failure(seen, Failure(SUSPENSION, 403, "Forbidden", "not by you"), now)
    found = conditions(made)
    assert "Suspended" not in found
    assert found["Created"][0] == "False"
    assert found["Created"][1].startswith("JobSet mnist could not be suspended, and its pods run on: not by you.")


def test_what_else_was_refused_does_not_hide_that_it_is_suspended(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    seen = observed(make_trainjob(suspend=True), make_runtime(), jobset(suspend=False, active=1))
    refused = Apply(resource=CONFIG_MAPS, body={"metadata": {"name": "x"}}, field_manager="trainer")
    made = plan_failure(seen, Failure(refused, 403, "Forbidden", "quota"), now)
    assert conditions(made)["Suspended"][0] == "True"


# Resuming

UNSTOPPED = {
    "a Job that is not suspended yet": one_job(suspend=False, conditions=()),
    "a Job that has not been looked at since": one_job(conditions=()),
    "a Job with pods": one_job(active=1),
    "a Job whose pods are ending": one_job(terminating=1),
    "a Job that is being deleted": one_job(deleted=True),
}


@pytest.mark.parametrize("job", UNSTOPPED.values(), ids=UNSTOPPED)
def test_a_job_is_not_resumed_while_it_may_have_pods(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, job: JobOfSet
) -> None:
    stopped = one_job("mnist-a-0", terminating=0)
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    made = plan(observed(trainjob, make_runtime(), jobset(), stopped, job), now)
    assert not about_jobset(made)
    waiting = "mnist starts again when nothing of its last run is left: Job mnist-node-0 may still have pods"
    assert conditions(made) == {"Suspended": ("True", waiting)}


def test_a_job_is_not_resumed_while_its_jobset_counts_pods(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """The Job itself may not have been seen yet."""
    made = plan(observed(make_trainjob(suspend=False), make_runtime(), jobset(active=1)), now)
    assert not about_jobset(made)


STOPPED = {
    "there is no Job": (),
    "its Jobs have stopped": (one_job(terminating=0), one_job("mnist-node-1")),
    "the others have ended": (one_job(), one_job("mnist-node-1", suspend=False, conditions=("Complete",), terminating=1)),
}


@pytest.mark.parametrize("jobs", STOPPED.values(), ids=STOPPED)
def test_a_job_is_resumed_when(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, jobs: tuple[JobOfSet, ...]
) -> None:
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    made = plan(observed(trainjob, make_runtime(), jobset(), *jobs), now)
    assert resumed(made)
    assert conditions(made) == {"Suspended": ("False", "TrainJob is resumed")}


def test_a_job_whose_jobset_somebody_suspended_says_what_it_waits_for(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    made = plan(observed(make_trainjob(), make_runtime(), jobset(), one_job(terminating=2)), now)
    status, message = conditions(made)["Created"]
    assert (status, "Job mnist-node-0 may still have pods" in message) == ("False", True)


# Other nodes than before


def placed(make_runtime: MakeRuntime, **pods: Any) -> Json:
    """The runtime whose pods are to run where `pods` says."""
    runtime = make_runtime()
    template = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"] |= pods
    return runtime


KEPT = {
    "another selector": ({"nodeSelector": {"gpu": "a100"}}, {"nodeSelector": {"zone": "b"}}, "nodeSelector gpu=a100"),
    "a toleration less": ({"tolerations": [{"key": "spot", "operator": "Exists"}]}, {}, "toleration of spot"),
    "a gate less": ({"schedulingGates": [{"name": "example.com/wait"}]}, {}, "schedulingGate example.com/wait"),
}


@pytest.mark.parametrize(("before", "wanted", "kept"), KEPT.values(), ids=KEPT)
def test_a_job_that_comes_back_with(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, before: Json, wanted: Json, kept: str
) -> None:
    """It gets a new JobSet where nothing is lost by it; where something is, it says what is kept and why."""
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    runtime = placed(make_runtime, **wanted)
    anew = plan(observed(trainjob, runtime, jobset(), one_job(pods=before)), now)
    assert about_jobset(anew) == [Delete(ref=SUSPENSION.ref, propagation="Foreground")]
    assert conditions(anew)["Suspended"] == (
        "True",
        f"mnist starts again when nothing of its last run is left: its JobSet is recreated, as it would keep {kept}",
    )
    leaving = plan(observed(trainjob, runtime, jobset(deleted=True), one_job(pods=before)), now)
    assert (about_jobset(leaving), conditions(leaving)["Suspended"][0]) == ([], "True")
    gone = plan(observed(trainjob, runtime, None), now)
    assert (resumed(gone), conditions(gone)) == (True, {"Suspended": ("False", "TrainJob is resumed")})
    merged = plan(observed(trainjob, runtime, jobset(), one_job(pods=before, failed=1)), now)
    assert resumed(merged)
    status, message = conditions(merged)["KeptPlacement"]
    assert (status, kept in message) == ("True", True)


LOSSES = {
    "volumes": (jobset(volumeClaimPolicies=[{"templates": []}]), one_job(), "its volumes would go with it"),
    "restarts": (jobset(status={"restarts": 1}), one_job(), "its restarts would no longer count"),
    "failures": (jobset(), one_job(failed=1), "the failures of the Job mnist-node-0 would no longer count"),
    "a rank that is done": (jobset(), one_job(succeeded=1), "what the Job mnist-node-0 has done would be done again"),
}


@pytest.mark.parametrize(("live", "job", "why"), LOSSES.values(), ids=LOSSES)
def test_no_jobset_is_made_anew_that_would_lose(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, live: LiveJobSet, job: JobOfSet, why: str
) -> None:
    before = msgspec.structs.replace(job, spec=one_job(pods={"nodeSelector": {"gpu": "a100"}}).spec)
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    made = plan(observed(trainjob, make_runtime(), live, before), now)
    assert resumed(made)
    message = conditions(made)["KeptPlacement"][1]
    assert why in message
    # In the foreground: else the new JobSet would train beside pods that are still ending.
    assert message.endswith("kubectl delete jobset mnist -n team-a --cascade=foreground")


def test_no_jobset_is_made_anew_when_an_initializer_has_finished(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    done = one_job("mnist-data-0", suspend=False, conditions=("Complete",))
    waiting = one_job(pods={"nodeSelector": {"gpu": "a100"}})
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    made = plan(observed(trainjob, make_runtime(), jobset(), done, waiting), now)
    assert resumed(made)
    assert "what the Job mnist-data-0 has done would be done again" in conditions(made)["KeptPlacement"][1]


SAME = {
    "a toleration that is written otherwise": (
        {"tolerations": [{"key": "spot", "operator": "Exists"}]},
        {"tolerations": [{"key": "spot", "operator": "Exists", "value": "", "tolerationSeconds": None}]},
    ),
    "the same selector": ({"nodeSelector": {"gpu": "a100"}}, {"nodeSelector": {"gpu": "a100"}}),
    "another value, which is overwritten": ({"nodeSelector": {"gpu": "a100"}}, {"nodeSelector": {"gpu": "h200"}}),
    "a selector more": ({}, {"nodeSelector": {"gpu": "a100"}}),
    "what JobSet added itself": ({"nodeSelector": {"alpha.jobset.sigs.k8s.io/namespaced-job": "a_b"}}, {}),
}


@pytest.mark.parametrize(("before", "wanted"), SAME.values(), ids=SAME)
def test_the_jobset_stays_with(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, before: Json, wanted: Json
) -> None:
    trainjob = make_trainjob(suspend=False, status={"conditions": [SUSPENDED]})
    made = plan(observed(trainjob, placed(make_runtime, **wanted), jobset(), one_job(pods=before)), now)
    assert resumed(made)
    assert "KeptPlacement" not in conditions(made)


def test_a_running_job_goes_on_saying_what_its_pods_keep_and_no_longer_than_that(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    running = jobset(suspend=False, active=1)
    told = {
        "type": "KeptPlacement",
        "status": "True",
        "reason": "x",
        "message": "y",
        "lastTransitionTime": "2026-11-21T11:30:00Z",
    }
    trainjob = make_trainjob(status={"conditions": [{**SUSPENDED, "status": "False"}, told]})
    kept = one_job(suspend=False, conditions=(), active=1, pods={"nodeSelector": {"gpu": "a100"}})
    made = plan(observed(trainjob, make_runtime(), running, kept), now)
    assert not about_jobset(made)
    assert "nodeSelector gpu=a100" in conditions(made)["KeptPlacement"][1]
    free = one_job(suspend=False, conditions=(), active=1)
    assert "KeptPlacement" not in conditions(plan(observed(trainjob, make_runtime(), running, free), now))


def test_a_job_that_was_never_suspended_keeps_nothing_of_before(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """What its Jobs have beside that was given to them by others, as by a policy of the cluster."""
    running = jobset(suspend=False, active=1)
    given = one_job(suspend=False, conditions=(), active=1, pods={"nodeSelector": {"team": "a"}})
    assert conditions(plan(observed(make_trainjob(), make_runtime(), running, given), now)) == {}


# Another number of nodes


def sized(count: int | None, **more: Any) -> LiveJobSet:
    """A JobSet whose Job has so many pods."""
    return jobset(replicatedJobs=[{"name": "node", "template": {"spec": {"parallelism": count}}}], **more)


ANEW = Delete(ref=SUSPENSION.ref, propagation="Foreground")


@pytest.mark.parametrize("job", UNSTOPPED.values(), ids=UNSTOPPED)
@pytest.mark.parametrize("suspend", [True, False])
def test_the_jobset_of_other_nodes_stays_while_it_may_have_pods(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, job: JobOfSet, suspend: bool
) -> None:
    trainjob = make_trainjob(suspend=suspend, trainer={"numNodes": 3})
    assert not about_jobset(plan(observed(trainjob, make_runtime(), sized(2), job), now))


@pytest.mark.parametrize("suspend", [True, False])
def test_the_jobset_of_other_nodes_is_made_anew_whatever_it_has_counted(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, suspend: bool
) -> None:
    trainjob = make_trainjob(suspend=suspend, trainer={"numNodes": 3})
    stopped = one_job(failed=1, terminating=0)
    assert about_jobset(plan(observed(trainjob, make_runtime(), sized(2, status={"restarts": 1}), stopped), now)) == [ANEW]
    assert not about_jobset(plan(observed(trainjob, make_runtime(), sized(2, deleted=True), stopped), now))
    (made,) = about_jobset(plan(observed(trainjob, make_runtime(), None), now))
    assert isinstance(made, Apply)
    assert made.body["spec"]["suspend"] is suspend
    assert made.body["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 3


def test_a_job_that_was_resumed_before_its_jobset_was_stopped_does_not_run_on_with_the_nodes_of_before(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    trainjob = make_trainjob(suspend=False, trainer={"numNodes": 3})
    running = one_job(suspend=False, conditions=(), active=2)
    made = plan(observed(trainjob, make_runtime(), sized(2, suspend=False, active=2), running), now)
    assert about_jobset(made) == [SUSPENSION]
    assert conditions(made)["Created"][1] == (
        "mnist starts again when nothing of its last run is left: it gets another number of nodes; the TrainJob then continues."
    )


UNCHANGED: dict[str, tuple[Json, LiveJobSet]] = {
    "the same number": ({"numNodes": 2}, sized(2, suspend=False, active=1)),
    "no number of its own, and a runtime whose number is another now": ({}, sized(5, suspend=False, active=1)),
    "a JobSet that has failed": (
        {"numNodes": 3},
        sized(2, suspend=False, status={"conditions": [{"type": "Failed", "status": "True", "reason": "x", "message": "y"}]}),
    ),
    "a JobSet of another release, which says no number": ({"numNodes": 3}, sized(None, suspend=False, active=1)),
}


@pytest.mark.parametrize(("trainer", "live"), UNCHANGED.values(), ids=UNCHANGED)
def test_a_jobset_is_left_alone_of_a_job_with(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, trainer: Json, live: LiveJobSet
) -> None:
    assert not about_jobset(plan(observed(make_trainjob(suspend=False, trainer=trainer), make_runtime(), live), now))


@pytest.mark.parametrize("suspend", [True, False])
def test_a_jobset_with_claims_is_not_made_anew_and_the_job_says_why(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, suspend: bool
) -> None:
    live = sized(2, volumeClaimPolicies=[{"templates": []}])
    made = plan(observed(make_trainjob(suspend=suspend, trainer={"numNodes": 3}), make_runtime(), live, one_job()), now)
    assert not about_jobset(made)
    assert "its volumes (volumeClaimPolicies) would be deleted" in conditions(made)["Created"][1]


def test_a_group_has_its_new_size_before_the_new_jobset_is_made(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """A job of 2 whose group asks for 3 would wait for ever."""
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    (group,) = rendered(make_trainjob(trainer={"numNodes": 3}), runtime).objects
    (companion,) = (one for one in COMPANIONS if one.resource == COSCHEDULING_POD_GROUPS)
    kept = {companion: msgspec.convert(group, PodGroup)}
    trainjob = make_trainjob(suspend=False, trainer={"numNodes": 2})
    ending = plan(observed(trainjob, runtime, sized(3), one_job(terminating=1), companions=kept), now)
    assert not ending.writes
    made = plan(observed(trainjob, runtime, sized(3), one_job(), companions=kept), now)
    (group_write, jobset_write) = made.writes
    assert isinstance(group_write, Apply)
    assert group_write.body["spec"]["minMember"] == 2
    assert jobset_write == ANEW


def test_the_deadline_begins_when_the_job_is_really_resumed(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    trainjob = make_trainjob(suspend=False, activeDeadlineSeconds=60, status={"conditions": [SUSPENDED]})
    waiting = plan(observed(trainjob, make_runtime(), jobset(), one_job(terminating=1)), now)
    assert "Failed" not in conditions(waiting)
    going_on = plan(observed(trainjob, make_runtime(), jobset(), one_job()), now)
    assert going_on.requeue_after == 60
