"""MPIJobs that are left alone or stopped: faults, names, and those of the mpi-operator."""

from __future__ import annotations

import msgspec
import pytest

from mpi_jobs import ALL_RUN, MPI, NOW, STARTED, after, job_view, observed, states
from shunter.api.meta import Json
from shunter.api.training.mpi import MPIJob
from shunter.kube.controllers.plan import NOTHING
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

NO_IMAGE = {"template": {"spec": {"containers": [{"name": "main"}]}}}
NO_NAME = {"template": {"spec": {"containers": [{"image": "img:1"}]}}}
NO_CONTAINER: Json = {"template": {"spec": {"containers": []}}}


@pytest.mark.parametrize(
    ("roles", "fault"),
    [
        ({"Launcher": NO_CONTAINER}, "MPIReplicaSpecs is not valid: containers definition expected in Launcher"),
        ({"Worker": NO_CONTAINER}, "MPIReplicaSpecs is not valid: containers definition expected in Worker"),
        ({"Worker": {"template": {}}}, "MPIReplicaSpecs is not valid: containers definition expected in Worker"),
        ({"Master": NO_IMAGE}, "MPIReplicaType is Master but must be one of [Launcher Worker]"),
        ({"Worker": NO_IMAGE}, "MPIReplicaSpec is not valid: Image is undefined in the container of Worker"),
        ({"Launcher": NO_NAME}, "MPIReplicaSpec is not valid: ImageName is undefined in the container of Launcher"),
        ({"Launcher": {"replicas": 0}}, "MPIReplicaSpec is not valid: There must be only 1 launcher replica"),
    ],
)
def test_a_fault_is_told_once_stays_in_the_condition_and_nothing_is_made(roles: Json, fault: str) -> None:
    view = job_view(roles=roles, status={})
    made = plan(MPI, Observed(job=MPI.read(view)), NOW)
    message = f"MPIJob failed validation because {fault}"
    assert made.writes == ()
    assert [(event.type, event.reason, event.message) for event in made.events] == [
        ("Warning", "MPIJobFailedValidation", message)
    ]
    assert made.status is not None
    assert [(one["status"], one["reason"], one["message"]) for one in made.status.desired["conditions"]] == [
        ("False", "MPIJobFailedValidation", message)
    ]
    again = plan(MPI, Observed(job=MPI.read(after(view, made))), NOW.replace(hour=13))
    assert again.status is not None
    assert (again.writes, again.events, again.status.desired) == ((), (), made.status.desired)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        pytest.param({}, "MPIReplicaSpecs is not valid", id="no spec"),
        pytest.param(
            {"spec": {"mpiReplicaSpecs": {}}}, "MPIReplicaSpec is not valid: Master ReplicaSpec must be present", id="no roles"
        ),
    ],
)
def test_a_job_without_roles_is_told_from_one_without_a_spec(spec: Json, fault: str) -> None:
    view = msgspec.convert({"metadata": {"name": "m", "namespace": "team-a", "uid": "u1"}, **spec}, MPIJob)
    made = plan(MPI, Observed(job=MPI.read(view)), NOW)
    assert [event.message for event in made.events] == [f"MPIJob failed validation because {fault}"]


def test_a_job_that_was_put_right_is_created_after_all() -> None:
    wrong = job_view(roles={"Launcher": {"replicas": 2}}, status={})
    made = plan(MPI, Observed(job=MPI.read(wrong)), NOW)
    assert made.status is not None
    right = job_view(status=made.status.desired)
    assert states(plan(MPI, Observed(job=MPI.read(right)), NOW)) == ["Created=True"]


def test_a_name_that_labels_cannot_hold_fails_the_job() -> None:
    made = plan(MPI, Observed(job=MPI.read(job_view(metadata={"name": "m" * 64}, status={}))), NOW)
    assert made.writes == ()
    assert made.status is not None
    assert made.status.desired["conditions"][-1]["type"] == "Failed"
    assert "metadata.name has 64 characters" in made.status.desired["conditions"][-1]["message"]


V2BETA1 = {"managedFields": [{"manager": "kubectl", "apiVersion": "kubeflow.org/v2beta1"}]}


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(job_view(metadata=V2BETA1, status={}), id="written as v2beta1"),
        pytest.param(
            job_view(runPolicy={"managedBy": "kubeflow.org/mpi-operator"}, status={}), id="managedBy names the mpi-operator"
        ),
    ],
)
def test_a_job_of_the_mpi_operator_is_left_alone_with_an_event(view: MPIJob) -> None:
    made = plan(MPI, observed(view, ALL_RUN), NOW)
    assert (made.writes, made.status) == ((), None)
    (event,) = made.events
    assert (event.type, event.reason) == ("Normal", "LeftToMPIOperator")


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(STARTED, id="that runs"),
        pytest.param(
            {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:00:00Z"},
            id="that has ended, with a time to live and pods to clean up",
        ),
    ],
)
def test_nothing_is_done_to_a_job_of_the_mpi_operator(status: Json) -> None:
    policy = {"ttlSecondsAfterFinished": 1, "cleanPodPolicy": "All"}
    assert plan(MPI, observed(job_view(metadata=V2BETA1, runPolicy=policy, status=status), ALL_RUN), NOW) == NOTHING


def test_a_status_written_in_the_other_version_makes_no_job_the_mpi_operators() -> None:
    """A dashboard may write through any version that is served."""
    fields = [{"apiVersion": "kubeflow.org/v1"}, {"apiVersion": "kubeflow.org/v2beta1", "subresource": "status"}]
    assert plan(MPI, observed(job_view(metadata={"managedFields": fields}), ALL_RUN), NOW).status is not None
