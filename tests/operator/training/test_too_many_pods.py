"""A number of replicas that nobody can mean is refused with its field, and costs neither time nor memory where it came past."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
import pytest

from shunter.api.batch import MOST_PODS
from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.controllers.plan import Plan
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse
from shunter.operator.training.admission import routes
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STARTED = {"startTime": "2026-11-21T11:00:00Z"}
INT32_MAX = 2**31 - 1
SECONDS = 5.0
"""Far more than a look takes, and far less than to count to two thousand million."""
MPI = "MPIJob"
KINDS = pytest.mark.parametrize("kind", JOB_KINDS, ids=lambda kind: str(kind.resource.kind))


def job_of(kind: JobKind, replicas: int, status: Json | None = None) -> Json:
    template = {"spec": {"containers": [{"name": kind.container, "image": "img:1"}]}}
    roles = {role: {"replicas": 1, "template": template} for role in kind.roles if role in ("Launcher", "Master")}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "j", "namespace": "team-a", "uid": "u1"},
        "spec": {kind.replica_specs: {**roles, "Worker": {"replicas": replicas, "template": template}}},
        "status": status or {},
    }


def refusal(kind: JobKind, replicas: int) -> str:
    field = f"spec.{kind.replica_specs}[Worker].replicas"
    return f"{field}: Invalid value: {replicas}: must not be more than {MOST_PODS}"


def answer(kind: JobKind, job: Json) -> AdmissionResponse:
    path = f"/validate-kubeflow-org-v1-{kind.resource.kind.lower()}"
    response = routes()[path](AdmissionRequest(uid="1", object=job))
    assert isinstance(response, AdmissionResponse)
    return response


def planned(kind: JobKind, job: Json) -> Plan:
    framework = framework_of(kind.resource.kind)
    view = msgspec.convert(job, framework.info.view)
    began = time.monotonic()
    made = plan(framework, Observed(job=framework.read(view), faults=tuple(framework.validate(view, None)[0])), NOW)
    assert time.monotonic() - began < SECONDS
    return made


@KINDS
def test_it_is_refused_at_admission_where_anything_is(kind: JobKind) -> None:
    assert answer(kind, job_of(kind, MOST_PODS)).allowed
    response = answer(kind, job_of(kind, MOST_PODS + 1))
    if kind.resource.kind == MPI:
        assert response.allowed
    else:
        assert (response.allowed, response.message) == (False, refusal(kind, MOST_PODS + 1))


@KINDS
def test_a_new_job_that_came_past_says_so_and_makes_nothing(kind: JobKind) -> None:
    made = planned(kind, job_of(kind, INT32_MAX))
    assert not made.writes
    assert made.status is not None
    condition = made.status.desired["conditions"][-1]
    wanted = ("Created", "False") if kind.resource.kind == MPI else ("Failed", "True")
    assert (condition["type"], condition["status"]) == wanted
    assert refusal(kind, INT32_MAX) in condition["message"]


@KINDS
def test_a_running_job_that_was_scaled_to_it_is_left_as_it_is_with_an_event(kind: JobKind) -> None:
    made = planned(kind, job_of(kind, INT32_MAX, STARTED))
    assert not made.writes
    assert [refusal(kind, INT32_MAX) in event.message for event in made.events if event.type == "Warning"] == [True]
