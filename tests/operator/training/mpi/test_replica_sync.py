"""What a running MPIJob wants written, in which order, and what stands in its way."""

from __future__ import annotations

import msgspec
import pytest

from mpi_jobs import ALL_RUN, MPI, NOW, after, job_view, observed, states, written
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.kube.controllers.plan import Create, Failure
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure


@pytest.mark.parametrize(
    ("resource", "name", "reason", "told"),
    [
        (SERVICE_ACCOUNTS, "ring-launcher", "AlreadyExists", []),
        (CONFIG_MAPS, "ring-config", "AlreadyExists", ["ErrResourceExists"]),
        (ROLES, "ring-launcher", "AlreadyExists", ["LauncherRole is exist", "ErrResourceExists"]),
        (ROLE_BINDINGS, "ring-launcher", "AlreadyExists", ["RoleBinding is exist", "ErrResourceExists"]),
        (PODS, "ring-worker-0", "AlreadyExists", ["ErrResourceExists"]),
        (PODS, "ring-launcher", "AlreadyExists", ["ErrResourceExists"]),
        (PODS, "ring-launcher", "Forbidden", ["MPIJobFailed"]),
        (CONFIG_MAPS, "ring-config", "Forbidden", ["MPIJobFailed"]),
    ],
)
def test_what_is_in_the_way_is_told(resource: Resource, name: str, reason: str, told: list[str]) -> None:
    write = Create(resource=resource, body={"metadata": {"name": name}})
    made = plan_failure(MPI, observed(job_view()), Failure(write, 409, reason, "no"), NOW)
    assert [event.reason for event in made.events] == told
    for event in made.events:
        if event.reason == "ErrResourceExists":
            assert (
                event.message == f'Resource "{name}" of MPIJobKind "{resource.kind}" already exists and is not managed by MPIJob'
            )


def test_an_object_of_anothers_is_asked_for_again_and_never_patched() -> None:
    seen = observed(job_view(3), ALL_RUN, made_for=job_view(2, metadata={"uid": "another"}))
    seen = msgspec.structs.replace(seen, children=observed(job_view(3), ALL_RUN).children)
    assert written(plan(MPI, seen, NOW))[:3] == [
        "create ConfigMap/ring-config",
        "create Role/ring-launcher",
        "create RoleBinding/ring-launcher",
    ]


def test_objects_come_first_then_workers_and_the_launcher_when_no_worker_is_missing() -> None:
    view = job_view(status={})
    nothing = Observed(job=MPI.read(view))
    assert written(plan(MPI, nothing, NOW)) == [
        "create ServiceAccount/ring-launcher",
        "create ConfigMap/ring-config",
        "create Role/ring-launcher",
        "create RoleBinding/ring-launcher",
        "create Pod/ring-worker-0",
        "create Pod/ring-worker-1",
    ]
    with_workers = observed(view, {"ring-worker-0": "Pending", "ring-worker-1": "Pending"})
    assert written(plan(MPI, with_workers, NOW)) == ["create Pod/ring-launcher"]


def test_a_second_look_writes_nothing() -> None:
    view = after(job_view(), plan(MPI, observed(job_view(), ALL_RUN), NOW))
    again = plan(MPI, observed(view, ALL_RUN), NOW)
    assert again.status is not None
    assert (again.writes, again.events, again.status.desired) == ((), (), again.status.observed)


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (3, ["patch ConfigMap/ring-config", "patch Role/ring-launcher", "create Pod/ring-worker-2"]),
        (1, ["patch ConfigMap/ring-config", "patch Role/ring-launcher", "patch Pod/ring-worker-1", "delete Pod/ring-worker-1"]),
        (
            0,
            [
                "patch ConfigMap/ring-config",
                "patch Role/ring-launcher",
                "patch Pod/ring-worker-0",
                "patch Pod/ring-worker-1",
                "delete Pod/ring-worker-0",
                "delete Pod/ring-worker-1",
            ],
        ),
    ],
)
def test_scaling_changes_hosts_and_rights_with_the_pods(workers: int, expected: list[str]) -> None:
    assert written(plan(MPI, observed(job_view(workers), ALL_RUN, made_for=job_view(2)), NOW)) == expected


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_nothing_is_made_when_the_launcher_has_ended(phase: str) -> None:
    """Not even a worker that is gone."""
    made = plan(MPI, observed(job_view(), {"ring-launcher": phase}), NOW)
    assert made.writes == ()
    assert states(made)[-1] == f"{phase}=True"


@pytest.mark.parametrize(
    ("launcher", "run_policy", "is_told"),
    [
        ({"restartPolicy": "Never"}, {}, False),
        ({"restartPolicy": "Never"}, {"cleanPodPolicy": "Running"}, False),
        ({"restartPolicy": "Never"}, {"cleanPodPolicy": "All"}, True),
        ({"restartPolicy": "ExitCode"}, {}, True),
    ],
    ids=["kept", "kept as it has ended", "cleaned up", "replaced"],
)
def test_a_launchers_exit_code_is_told_when_its_pod_goes(launcher: Json, run_policy: Json, is_told: bool) -> None:
    view = job_view(roles={"Launcher": launcher}, runPolicy=run_policy)
    made = plan(MPI, observed(view, {**ALL_RUN, "ring-launcher": "Failed"}), NOW)
    told = [event.message for event in made.events if event.reason == "ExitedWithCode"]
    assert told == (["Pod: team-a.ring-launcher exited with code 137"] if is_told else [])


@pytest.mark.parametrize(("role", "name"), [("Launcher", "ring-launcher"), ("Worker", "ring-worker-1")])
def test_exit_code_makes_a_pod_again_that_a_signal_ended(role: str, name: str) -> None:
    """Upstream leaves such a job Restarting for ever. The state comes before the deletion, so no crash between hides it."""
    view = job_view(roles={role: {"restartPolicy": "ExitCode"}})
    failed = {**ALL_RUN, name: "Failed"}
    first = plan(MPI, observed(view, failed), NOW)
    assert (first.writes, states(first)[-1]) == ((), "Restarting=True")
    view = after(view, first)
    assert f"delete Pod/{name}" in written(plan(MPI, observed(view, failed), NOW))
    gone = {other: phase for other, phase in ALL_RUN.items() if other != name}
    assert written(plan(MPI, observed(view, gone), NOW))[-1] == f"create Pod/{name}"


@pytest.mark.parametrize(("role", "name"), [("Launcher", "ring-launcher"), ("Worker", "ring-worker-1")])
def test_exit_code_fails_the_job_for_an_error_of_the_program(role: str, name: str) -> None:
    """The job has an end, so that its time to live counts."""
    view = job_view(roles={role: {"restartPolicy": "ExitCode"}})
    made = plan(MPI, observed(view, {**ALL_RUN, name: "Failed"}, exit_code=1), NOW)
    assert "delete" not in " ".join(written(made))
    assert states(made)[-1] == "Failed=True"
    assert made.status is not None
    assert made.status.desired["completionTime"]
