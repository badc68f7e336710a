"""What the webhook of MPIJobs says. Upstream has none; ours refuses nothing, whatever it is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.kube.webhooks.registration import Url, manifest
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse
from shunter.operator.kinds import ServedKinds
from shunter.operator.training.admission import GangScheduling, configurations, routes
from shunter.operator.webhooks import canaries

PATH = "/validate-kubeflow-org-v1-mpijob"
QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}
TOLD = (
    "metadata.labels[kueue.x-k8s.io/queue-name]: 'team-a' has no effect: Kueue manages MPIJobs of "
    "kubeflow.org/v2beta1 only, so this job starts immediately, regardless of the quota; use a TrainJob "
    "whose runtime has mlPolicy.mpi, or an MPIJob of "
    "kubeflow.org/v2beta1, which the mpi-operator runs"
)
BY_OTHERS = [{"manager": "kubectl", "apiVersion": "kubeflow.org/v2beta1"}]


def job(labels: Json | None = None, spec: Any = None, **metadata: Any) -> Json:
    given = spec if spec is not None else {"mpiReplicaSpecs": {}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "ring", "namespace": "team-a", "labels": labels or {}, **metadata},
        "spec": given,
    }


def answer(new: Json, old: Json | None = None, gangs: GangScheduling | None = None) -> AdmissionResponse:
    response = routes(gangs=gangs)[PATH](AdmissionRequest(uid="1", object=new, old_object=old))
    assert isinstance(response, AdmissionResponse)
    return response


@pytest.mark.parametrize(
    ("new", "warnings"),
    [
        pytest.param(job(QUEUE), [TOLD], id="queue"),
        pytest.param(job(), [], id="no queue"),
        pytest.param(job({"kueue.x-k8s.io/queue-name": ""}), [], id="empty"),
        pytest.param(job(QUEUE, managedFields=BY_OTHERS), [], id="written as v2beta1"),
        pytest.param(job(QUEUE, {"runPolicy": {"managedBy": "kubeflow.org/mpi-operator"}}), [], id="managed by the mpi-operator"),
    ],
)
def test_a_queue_that_nobody_looks_at_is_warned_of(new: Json, warnings: list[str]) -> None:
    assert [*answer(new).warnings] == warnings
    assert [*answer(new, job()).warnings] == warnings
    assert answer(new).allowed


def test_a_gang_that_nobody_places_is_warned_of_too() -> None:
    (warning,) = answer(job(), gangs=GangScheduling("volcano", lambda: True)).warnings
    assert "install volcano" in warning
    left = job(spec={"runPolicy": {"managedBy": "kubeflow.org/mpi-operator"}})
    assert not answer(left, gangs=GangScheduling("volcano", lambda: True)).warnings


@pytest.mark.parametrize("spec", ["x", [], 7, {"mpiReplicaSpecs": "x"}, {"mpiReplicaSpecs": {"Boss": {"replicas": -1}}}])
def test_nothing_is_refused(spec: Any) -> None:
    assert answer(job(QUEUE, spec)).allowed
    assert answer(job(QUEUE, spec), job()).allowed
    assert answer(job(), job(QUEUE, spec)).allowed


def test_mpijobs_are_made_without_the_webhooks_answer_and_those_of_the_mpi_operator_are_not_asked_about() -> None:
    (configuration,) = configurations()
    hooks = manifest(configuration, Url("https://h"), authority=b"")["webhooks"]
    (own,) = [hook for hook in hooks if hook["clientConfig"]["url"] == f"https://h{PATH}"]
    assert (own["failurePolicy"], own["matchPolicy"], own["rules"][0]["apiVersions"]) == ("Ignore", "Exact", ["v1"])
    assert {hook["failurePolicy"] for hook in hooks if hook is not own} == {"Fail"}


def test_readiness_waits_for_no_webhook_whose_silence_nobody_sees() -> None:
    assert "MPIJob" not in {resource.kind for resource, _ in canaries(ServedKinds())}
