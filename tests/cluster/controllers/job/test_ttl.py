"""When a Job that has ended is deleted."""

from __future__ import annotations

import pytest

from cluster.controllers.job.tallied import NOW, ago, job
from shunter.api.meta import Json
from shunter.cluster.controllers.job.ttl import plan
from shunter.kube.controllers.plan import NOTHING, Delete


def ended(type: str = "Complete", **status: str) -> Json:
    return {"conditions": [{"type": type, "status": "True", "lastTransitionTime": ago(60)}], **status}


@pytest.mark.parametrize("type", ["Complete", "Failed"])
def test_a_job_is_deleted_with_its_pods_when_its_time_is_over(type: str) -> None:
    (delete,) = plan(job(ended(type), ttlSecondsAfterFinished=60), NOW).writes
    assert isinstance(delete, Delete)
    assert (delete.ref.name, delete.ref.uid, delete.propagation) == ("j", "u", "Foreground")


def test_a_job_is_looked_at_again_when_its_time_is_over() -> None:
    waiting = plan(job(ended(), ttlSecondsAfterFinished=100), NOW)
    assert (waiting.writes, waiting.requeue_after) == ((), 40)


@pytest.mark.parametrize(
    ("status", "ttl"),
    [
        pytest.param(ended(), None, id="without a ttl"),
        pytest.param({}, 0, id="still running"),
        pytest.param(ended("Suspended"), 0, id="suspended"),
    ],
)
def test_other_jobs_stay(status: Json, ttl: int | None) -> None:
    assert plan(job(status, ttlSecondsAfterFinished=ttl), NOW) == NOTHING
