"""Which statuses of Jobs and JobSets come after what they tell of has started: those that only tell that it was made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cluster.controllers.jobset.test_jobs import jobset
from shunter.api.batch import Job
from shunter.api.jobset import JobSet
from shunter.cluster.controllers.job import plan as job_plan
from shunter.cluster.controllers.jobset import jobs_of
from shunter.cluster.controllers.jobset import plan as jobset_plan

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
Json = dict[str, Any]

RESTARTED = {
    "restarts": 1,
    "replicatedJobsStatus": [{"name": "node", "ready": 0, "succeeded": 0, "failed": 1, "active": 0, "suspended": 0}],
}


def one_replicated_job(**spec: Any) -> Json:
    made = jobset(**spec)
    del made["spec"]["replicatedJobs"][1:]
    return made


def without_jobs(**replicated: Any) -> Json:
    """A JobSet that makes no Job: of none of its replicated jobs there is to be one, or it has none."""
    made = one_replicated_job()
    made["spec"]["replicatedJobs"] = [{**one, **replicated} for one in made["spec"]["replicatedJobs"] if replicated]
    return made


def made_jobs(of: Json) -> tuple[Job, ...]:
    jobs = jobs_of(of)
    for number, job in enumerate(jobs):
        job["metadata"]["uid"] = str(number)
    return msgspec.convert(jobs, tuple[Job, ...])


@pytest.mark.parametrize(
    ("of", "is_made", "comes_later"),
    [
        pytest.param(one_replicated_job(), False, True, id="all Jobs are made at once"),
        pytest.param(one_replicated_job(), True, False, id="its Jobs are there"),
        pytest.param(jobset(), False, False, id="the next look makes more"),
        pytest.param({**one_replicated_job(), "status": RESTARTED}, False, False, id="its Jobs are made again"),
        pytest.param(one_replicated_job(suspend=True), False, False, id="suspended"),
        pytest.param(without_jobs(), False, False, id="no replicated jobs"),
        pytest.param(without_jobs(replicas=0), False, False, id="no replicas"),
        pytest.param(one_replicated_job(startupPolicy={"startupPolicyOrder": "InOrder"}), False, False, id="in order"),
    ],
)
def test_the_first_status_of_a_jobset(of: Json, is_made: bool, comes_later: bool) -> None:
    jobs = made_jobs(of) if is_made else ()
    planned = jobset_plan.plan(jobset_plan.Observed(jobset=msgspec.convert(of, JobSet), jobs=jobs), NOW)
    assert (planned.status_after > 0) is comes_later


@pytest.mark.parametrize(
    ("changed", "comes_later"),
    [
        pytest.param({}, True, id="its pods are made"),
        pytest.param({"status": {"startTime": "2026-11-27T11:00:00Z"}}, False, id="it was started before"),
        pytest.param({"spec": {"suspend": True}}, False, id="suspended"),
        pytest.param({"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}, False, id="resumed"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-11-27T11:00:00Z"}}, False, id="being deleted"),
    ],
)
def test_the_first_status_of_a_job(changed: Json, comes_later: bool) -> None:
    job = jobs_of(one_replicated_job())[0]
    job["metadata"]["uid"] = "v"
    for part, fields in changed.items():
        job[part] = {**job.get(part, {}), **fields}
    planned = job_plan.plan(job_plan.Observed(job=msgspec.convert(job, Job)), NOW)
    assert (planned.status_after > 0) is comes_later
