"""When a Job says that it started: not after its pods, and at the latest when it finishes."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cluster.controllers.jobset.test_jobs import jobset
from shunter.api.batch import JOB_TRACKING_FINALIZER, Job
from shunter.api.core import Pod
from shunter.cluster.apiserver.builtin.job.status_rules import job_status_errors
from shunter.cluster.controllers.job import plan as job_plan
from shunter.cluster.controllers.jobset import jobs_of
from shunter.kube.controllers.plan import Patch, Plan

Json = dict[str, Any]

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
JOB_MADE = "2026-11-27T11:58:00Z"
POD_MADE = "2026-11-27T11:59:00Z"
SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}]}


def job(status: Json, **spec: Any) -> Json:
    made = jobs_of(jobset())[0]
    made["metadata"] |= {"uid": "u", "creationTimestamp": JOB_MADE}
    made["spec"] |= {"completions": 1, "parallelism": 1, **spec}
    return {**made, "status": status}


def pod(of: Json, phase: str, made: str = POD_MADE) -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": of["metadata"]["name"], "uid": "u", "controller": True}
    metadata = {
        "name": "p",
        "namespace": of["metadata"]["namespace"],
        "uid": "p",
        "creationTimestamp": made,
        "labels": of["spec"]["template"]["metadata"]["labels"],
        "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
        "ownerReferences": [owner],
        "finalizers": [JOB_TRACKING_FINALIZER],
    }
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase}}


def planned(of: Json, *pods: Json) -> Plan:
    observed = job_plan.Observed(job=msgspec.convert(of, Job), pods=msgspec.convert(pods, tuple[Pod, ...]))
    return job_plan.plan(observed, NOW)


def carried_out(of: Json, one: Json) -> Json:
    """The Job's status when its plans write no more, each of them held to the API server's rules."""
    of, one = copy.deepcopy(of), copy.deepcopy(one)
    for _ in range(10):
        plan = planned(of, one)
        if plan.status is None and not plan.writes:
            return dict(of["status"])
        for write in plan.writes:
            assert isinstance(write, Patch)
            one["metadata"]["finalizers"] = []
        if plan.status is not None:
            new = {**of, "status": dict(plan.status.desired)}
            assert job_status_errors(new, of) == []
            of = new
    raise AssertionError("the plans come to no end")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("status", [pytest.param({}, id="no status was written"), pytest.param(SUSPENDED, id="it was written")])
@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
def test_a_job_suspended_while_its_pod_ends_finishes_with_a_start_time(phase: str, status: Json, mode: str) -> None:
    of = job(status, suspend=True, backoffLimit=0, completionMode=mode)
    ended = carried_out(of, pod(of, phase))
    assert ended["conditions"][-1]["type"] == {"Succeeded": "Complete", "Failed": "Failed"}[phase]
    assert ended["startTime"] == POD_MADE


def test_a_suspended_job_with_nothing_to_do_has_no_start_time() -> None:
    of = job({}, suspend=True, completions=0)
    plan = planned(of)
    assert plan.status is not None
    assert "startTime" not in plan.status.desired
    assert job_status_errors({**of, "status": plan.status.desired}, of) == []


@pytest.mark.parametrize(
    ("status", "pod_made", "start"),
    [
        pytest.param({}, POD_MADE, POD_MADE, id="its first status was refused: a conflict"),
        pytest.param({}, "2026-11-27T13:00:00Z", "2026-11-27T12:00:00Z", id="the pod's clock is ahead"),
        pytest.param({}, "2026-11-27T09:00:00Z", JOB_MADE, id="an adopted pod is older than the Job"),
        pytest.param(SUSPENDED, POD_MADE, "2026-11-27T12:00:00Z", id="resumed"),
        pytest.param({"startTime": JOB_MADE}, POD_MADE, JOB_MADE, id="it has one"),
    ],
)
def test_a_job_starts_no_later_than_its_first_pod(status: Json, pod_made: str, start: str) -> None:
    of = job(status)
    plan = planned(of, pod(of, "Running", pod_made))
    assert plan.status is not None
    assert plan.status.desired["startTime"] == start


def test_the_deadline_counts_from_the_first_pod() -> None:
    of = job({}, activeDeadlineSeconds=60)
    plan = planned(of, pod(of, "Running"))
    assert plan.status is not None
    assert [one["reason"] for one in plan.status.desired["conditions"]] == ["DeadlineExceeded"]


def test_the_deadline_of_a_resumed_job_counts_anew() -> None:
    of = job(SUSPENDED, activeDeadlineSeconds=60)
    assert planned(of, pod(of, "Running")).requeue_after == 60
