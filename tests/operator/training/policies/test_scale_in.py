"""What a job with fewer replicas loses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from plan_texts import deleted
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


def test_fewer_workers_lose_the_pods_and_services_of_the_highest_indices(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    there = observe(make_job({"Worker": 3}))
    made = plan(PYTORCH, Observed(job=make_job({"Worker": 1}), children=there.children), now)
    wanted = ["Pod/bert-worker-1", "Pod/bert-worker-2", "Service/bert-worker-1", "Service/bert-worker-2"]
    assert sorted(deleted(made)) == wanted
