"""Counters of roles, and the conditions and events that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from plan_texts import states
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.progress import Progress
from shunter.operator.training.status import replica_counts, selector, settled

MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]
PYTORCH = framework_of("PyTorchJob")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_pods_are_counted_by_phase_and_pending_ones_not_at_all(make_job: MakeJob, observe: Observe) -> None:
    job = make_job({"Master": 1, "Worker": 3})
    phases = {"bert-worker-0": "Failed", "bert-worker-1": "Succeeded", "bert-worker-2": "Pending"}
    counts = replica_counts(PYTORCH, job, observe(job, phases).children)
    assert {role: (one.active, one.succeeded, one.failed) for role, one in counts.items()} == {
        "Master": (1, 0, 0),
        "Worker": (0, 1, 1),
    }


def test_pods_beyond_the_number_of_replicas_do_not_count(make_job: MakeJob, observe: Observe) -> None:
    children = observe(make_job({"Master": 1, "Worker": 3})).children
    assert replica_counts(PYTORCH, make_job({"Master": 1, "Worker": 1}), children)["Worker"].active == 1


def test_a_role_that_was_removed_does_not_count(make_job: MakeJob, observe: Observe) -> None:
    children = observe(make_job({"Master": 1, "Worker": 2})).children
    assert replica_counts(PYTORCH, make_job({"Master": 1}), children).keys() == {"Master"}


def test_a_role_says_by_which_labels_its_pods_are_found(make_job: MakeJob) -> None:
    wanted = "training.kubeflow.org/job-name=bert,training.kubeflow.org/operator-name=pytorchjob-controller"
    assert selector(make_job(), "Worker") == f"{wanted},training.kubeflow.org/replica-type=worker"


def test_after_success_what_still_ran_counts_as_succeeded(make_job: MakeJob, observe: Observe) -> None:
    job = make_job({"Master": 1, "Worker": 2})
    counted = Progress.of(job, NOW).counts(replica_counts(PYTORCH, job, observe(job, {"bert-worker-1": "Failed"}).children))
    workers = settled(counted).status.replica_statuses["Worker"]
    assert (workers.active, workers.succeeded, workers.failed) == (0, 1, 1)


def test_a_failure_is_not_taken_back_by_a_master_that_runs(make_job: MakeJob, observe: Observe) -> None:
    job = make_job({"Master": 1, "Worker": 1}, role={"restartPolicy": "Never"})
    made = plan(PYTORCH, observe(job, {"bert-worker-0": "Failed"}), NOW)
    assert states(made)[-1] == "Failed=True"
