"""backoffLimit: which restarts count, and what is told beyond it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from shunter.operator.training.children import Children
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.policies import backoff

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


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
