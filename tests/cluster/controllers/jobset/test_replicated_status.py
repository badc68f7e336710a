"""How the Jobs of each replicated job stand."""

from __future__ import annotations

import pytest

from cluster.controllers.jobset.stored_jobs import job, jobset
from shunter.api.batch import Job
from shunter.cluster.controllers.jobset.children import Children
from shunter.cluster.controllers.jobset.replicated_status import entry, is_ready, replicated_status


@pytest.mark.parametrize(
    ("of", "ready"),
    [
        pytest.param(job("j"), False, id="no pods yet"),
        pytest.param(job("j", ready=1), False, id="one of two"),
        pytest.param(job("j", ready=2), True, id="all"),
        pytest.param(job("j", ready=1, succeeded=1), True, id="one has succeeded"),
        pytest.param(job("j", ready=1, failed=1), False, id="one has failed"),
        pytest.param(job("j", spec={"completions": 1}, ready=1), True, id="fewer completions than in parallel"),
        pytest.param(job("j", spec={"completions": None, "parallelism": 1}, ready=1), True, id="no completions"),
    ],
)
def test_a_job_is_ready_when_all_pods_that_may_run_are(of: Job, ready: bool) -> None:
    assert is_ready(of) == ready


def test_each_replicated_job_has_an_entry_in_descending_order_of_names() -> None:
    jobs = [
        job("1", "a", ready=2, active=2),
        job("2", "a", spec={"suspend": True}),
        job("3", "b", ends="Complete", succeeded=2),
        job("4", "b", ends="Failed"),
    ]
    of = jobset(a=2, b=2, c=0)
    found = replicated_status(of, Children.of(of, jobs))
    assert [(one.name, one.ready, one.succeeded, one.failed, one.active, one.suspended) for one in found] == [
        ("c", 0, 0, 0, 0, 0),
        ("b", 0, 1, 1, 0, 0),
        ("a", 1, 0, 0, 1, 1),
    ]
    assert entry(found, "a") == found[2]
    assert entry(found, "d") is None
