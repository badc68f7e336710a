"""Jobs that are wrong: refused by the webhook, or, when they came past it, failed with the field and what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.training.pytorch import PyTorchJob
from shunter.kube.webhooks.server import AdmissionRequest
from shunter.operator.training.admission import GangScheduling, routes
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

PYTORCH = framework_of("PyTorchJob")
GOOD = {"spec": {"containers": [{"name": "pytorch", "image": "img:1"}]}}
SPECS = "spec.pytorchReplicaSpecs"

CASES = [
    pytest.param(
        {"Master": {"replicas": 2, "template": GOOD}},
        f"{SPECS}[Master].replicas: Forbidden: must be 1",
        id="two masters",
    ),
    pytest.param(
        {"Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}}},
        f"{SPECS}[Worker].template.spec.containers: Required value: must have at least one container with name pytorch",
        id="container of another name",
    ),
    pytest.param(
        {"Boss": {"replicas": 1, "template": GOOD}},
        f'{SPECS}[Boss]: Unsupported value: "Boss": supported values: "Master", "Worker"',
        id="unknown role",
    ),
    pytest.param({}, f"{SPECS}: Required value: must be required", id="no roles"),
]


def manifest(specs: Json, **spec: object) -> Json:
    metadata = {"name": "bert", "namespace": "team-a", "uid": "u1"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {"pytorchReplicaSpecs": specs, **spec},
    }


def verdict(job: Json) -> tuple[bool, int, str]:
    response = routes()["/validate-kubeflow-org-v1-pytorchjob"](AdmissionRequest(uid="1", object=job))
    return response.allowed, response.code, response.message  # type: ignore[union-attr]


@pytest.mark.parametrize(("specs", "message"), CASES)
def test_the_webhook_refuses_in_upstreams_words(specs: Json, message: str) -> None:
    assert verdict(manifest(specs)) == (False, 403, message)


def test_an_elastic_job_needs_workers() -> None:
    job = manifest({"Master": {"replicas": 1, "template": GOOD}}, elasticPolicy={})
    assert verdict(job)[2] == f"{SPECS}[Worker]: Required value: must be configured if elastic policy is used"


@pytest.mark.parametrize(("specs", "message"), CASES)
def test_past_admission_the_job_fails_once_and_says_why(specs: Json, message: str, now: datetime) -> None:
    view = msgspec.convert(manifest(specs), PyTorchJob)
    faults, _ = PYTORCH.validate(view, None)
    made = plan(PYTORCH, Observed(job=PYTORCH.read(view), faults=tuple(faults)), now)
    assert made.status is not None
    failed = made.status.desired["conditions"][-1]
    assert (failed["type"], failed["status"], failed["reason"]) == ("Failed", "True", "PyTorchJobFailed")
    assert failed["message"] == f"PyTorchJob bert is invalid: {message}. Correct the field(s) and create the job again."
    assert (made.writes, made.requeue_after) == ((), None)
    again = msgspec.convert({**manifest(specs), "status": made.status.desired}, PyTorchJob)
    second = plan(PYTORCH, Observed(job=PYTORCH.read(again), faults=tuple(faults)), now)
    assert (second.writes, second.events, second.requeue_after) == ((), (), None)


def test_a_running_job_that_was_scaled_to_zero_goes_on(make_job: Callable[..., AnyJob], now: datetime) -> None:
    """The scale subresource asks no webhook."""
    job = make_job({"Master": 1, "Worker": 0}, status={"startTime": "2026-11-21T11:00:00Z"})
    faults, _ = PYTORCH.validate(msgspec.convert(manifest({"Worker": {"replicas": 0, "template": GOOD}}), PyTorchJob), None)
    made = plan(PYTORCH, Observed(job=job, faults=tuple(faults)), now)
    assert made.status is not None
    assert [condition["type"] for condition in made.status.desired["conditions"]] == ["Created"]


def updated(job: Json, old: Json) -> tuple[bool, str]:
    request = AdmissionRequest(uid="1", operation="UPDATE", object=job, old_object=old)
    response = routes()["/validate-kubeflow-org-v1-pytorchjob"](request)
    return response.allowed, response.message  # type: ignore[union-attr]


NAMELESS = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}


@pytest.mark.parametrize("specs", [{}, {"Boss": {"template": GOOD}}, {"Master": "one"}, {"Worker": {"template": NAMELESS}}])
def test_a_job_that_came_past_admission_can_be_changed_and_deleted(specs: Json) -> None:
    old = manifest(specs)
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert updated(labelled, old) == (True, "")
    leaving = {**old, "metadata": {**old["metadata"], "deletionTimestamp": "2026-11-21T12:00:00Z"}}
    assert updated({**leaving, "spec": {**leaving["spec"], "runPolicy": {}}}, leaving) == (True, "")


def test_an_update_is_refused_for_what_it_makes_worse_only() -> None:
    old = manifest({"Worker": {"template": NAMELESS}})
    suspended = manifest({"Worker": {"template": NAMELESS}}, runPolicy={"suspend": True})
    assert updated(suspended, old) == (True, "")
    worse = manifest({"Worker": {"replicas": 0, "template": NAMELESS}}, runPolicy={"suspend": True})
    assert updated(worse, old) == (False, f"{SPECS}[Worker].replicas: Forbidden: must be at least 1")
    assert updated(manifest({"Worker": {"template": GOOD}}), manifest({"Worker": "one"})) == (True, ""), "it can be put right"


def test_an_unreadable_job_is_a_bad_request() -> None:
    wanted = "PyTorchJob cannot be read: spec.pytorchReplicaSpecs[...]: must be an object, not a string"
    assert verdict(manifest({"Master": "one"})) == (False, 400, wanted)


@pytest.mark.parametrize(
    ("pods", "fault"),
    [
        pytest.param("x", "spec: Invalid value: must be an object, not a string", id="spec"),
        pytest.param({"containers": "x"}, "spec.containers: Invalid value: must be a list, not a string", id="containers"),
        pytest.param({"containers": ["x"]}, "spec.containers[0]: Invalid value: must be an object, not a string", id="container"),
        pytest.param(
            {"containers": [{"name": "pytorch", "image": "i", "resources": {"requests": {"cpu": "much"}}}]},
            "spec.containers[0].resources: cpu: Invalid value: 'much' is no quantity: quantities must match the "
            "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="quantity",
        ),
    ],
)
def test_a_template_of_another_shape_is_refused_and_past_admission_the_job_fails(pods: object, fault: str, now: datetime) -> None:
    job = manifest({"Master": {"replicas": 1, "template": {"spec": pods}}})
    assert verdict(job) == (False, 403, f"{SPECS}[Master].template.{fault}")
    view = msgspec.convert(job, PyTorchJob)
    faults, _ = PYTORCH.validate(view, None)
    made = plan(PYTORCH, Observed(job=PYTORCH.read(view), faults=tuple(faults)), now)
    assert made.status is not None
    assert made.status.desired["conditions"][-1]["type"] == "Failed"


NO_EFFECT = (
    "spec.runPolicy.schedulingPolicy has no effect: the operator runs without --gang-scheduler-name, so pods are placed one by "
    "one, and some may run without the others"
)
WILL_WAIT = (
    "the job will wait: its pods are to be placed together by volcano, and the cluster does not serve "
    "podgroups.scheduling.volcano.sh (v1beta1); install volcano"
)


@pytest.mark.parametrize(
    ("gangs", "policy", "warnings"),
    [
        pytest.param(GangScheduling(), {"schedulingPolicy": {"minAvailable": 2}}, [NO_EFFECT], id="a gang that nobody makes"),
        pytest.param(GangScheduling(), {}, [], id="no gang"),
        pytest.param(GangScheduling("volcano", lambda: True), {}, [WILL_WAIT], id="a gang without its scheduler"),
        pytest.param(
            GangScheduling("volcano", lambda: True),
            {"managedBy": "kueue.x-k8s.io/multikueue"},
            [],
            id="a gang of another operator's",
        ),
        pytest.param(GangScheduling("volcano"), {"schedulingPolicy": {"minAvailable": 2}}, [], id="a gang"),
        pytest.param(None, {"schedulingPolicy": {}}, [], id="nobody knows"),
    ],
)
def test_a_gang_that_will_be_none_is_warned_of(gangs: GangScheduling | None, policy: Json, warnings: list[str]) -> None:
    request = AdmissionRequest(uid="1", object=manifest({"Worker": {"template": GOOD}}, runPolicy=policy))
    response = routes(gangs=gangs)["/validate-kubeflow-org-v1-pytorchjob"](request)
    assert [*response.warnings] == warnings  # type: ignore[union-attr]
