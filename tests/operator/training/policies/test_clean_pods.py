"""cleanPodPolicy: which pods and services a finished job keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from plan_texts import deleted
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]
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
