"""The rules of MPIJob that no recording shows: scaling, restarts by exit code, what is in the way, whose job it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import CONFIG_MAPS, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.api.training.mpi import MPIJob
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Patch, Plan
from shunter.operator.training.children import children_of
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.mpi import objects, pods
from shunter.operator.training.mpi.objects import HostList, Role
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure

MPI = framework_of("MPIJob")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
IMAGE = "delivery:1"
STARTED = {
    "startTime": "2026-11-21T11:00:00Z",
    "conditions": [{"type": "Created", "status": "True", "reason": "MPIJobCreated", "message": "MPIJob ring is created."}],
}


def job_view(workers: int = 2, *, roles: Json | None = None, metadata: Json | None = None, **spec: Any) -> MPIJob:
    """An MPIJob named ring; `roles` adds to or replaces fields of its two roles."""
    template = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}
    specs: Json = {"Launcher": {"template": template}, "Worker": {"replicas": workers, "template": template}}
    for role, fields in (roles or {}).items():
        specs[role] = {**specs.get(role, {}), **fields}
    status = spec.pop("status", STARTED)
    return msgspec.convert(
        {
            "metadata": {"name": "ring", "namespace": "team-a", "uid": "u1", "resourceVersion": "7", **(metadata or {})},
            "spec": {"mpiReplicaSpecs": specs, **spec},
            "status": status,
        },
        MPIJob,
    )


def observed(view: MPIJob, phases: Json | None = None, *, made_for: MPIJob | None = None, exit_code: int = 137) -> Observed:
    """The job with all its objects and the pods of `phases`, made for the job as it is, or as `made_for` says it was."""
    job, before = MPI.read(view), MPI.read(made_for or view)
    found = [_pod(before, name, phase, exit_code) for name, phase in (phases or {}).items()]
    workers = [pod for pod in found if pod.metadata.name != "ring-launcher"]
    kept = {
        SERVICE_ACCOUNTS: msgspec.convert(objects.service_account(before), MetadataOnly),
        CONFIG_MAPS: msgspec.convert(objects.config_map(before, workers), HostList),
        ROLES: msgspec.convert(objects.role(before), Role),
        ROLE_BINDINGS: msgspec.convert(objects.role_binding(before), MetadataOnly),
    }
    return Observed(job=job, children=children_of(job, found, ()), kept=kept)


def _pod(job: Any, name: str, phase: str, exit_code: int) -> Pod:
    body = pods.launcher(job, IMAGE) if name == "ring-launcher" else pods.worker(job, int(name.rpartition("-")[2]))
    state: Json = {"terminated": {"exitCode": exit_code}} if phase == "Failed" else {"running": {}}
    status = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
    return msgspec.convert({**body, "status": status}, Pod)


def written(made: Plan) -> list[str]:
    return [_name(write) for write in made.writes]


def _name(write: object) -> str:
    match write:
        case Create(resource=resource, body=body):
            return f"create {resource.kind}/{body['metadata']['name']}"
        case Patch(ref=ref) | Delete(ref=ref):
            return f"{type(write).__name__.lower()} {ref.resource.kind}/{ref.name}"
    raise AssertionError(write)


def states(made: Plan) -> list[str]:
    assert made.status is not None
    return [f"{condition['type']}={condition['status']}" for condition in made.status.wanted.get("conditions", [])]


def after(view: MPIJob, made: Plan) -> MPIJob:
    """The job with the status that the plan wrote."""
    assert made.status is not None
    body = msgspec.to_builtins(view)
    return msgspec.convert({**body, "status": made.status.wanted}, MPIJob)


ALL_RUN = {"ring-launcher": "Running", "ring-worker-0": "Running", "ring-worker-1": "Running"}


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
    assert (again.writes, again.events, again.status.wanted) == ((), (), again.status.observed)


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


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
def test_a_failed_pod_fails_the_job_and_stays_under_all_policies_but_exit_code(role: str, policy: str) -> None:
    """In-place restarts are the kubelet's; a pod in phase Failed is not made again."""
    name = {"Launcher": "ring-launcher", "Worker": "ring-worker-1"}[role]
    made = plan(MPI, observed(job_view(roles={role: {"restartPolicy": policy}}), {**ALL_RUN, name: "Failed"}), NOW)
    assert made.writes == () or written(made) == ["patch ConfigMap/ring-config"]
    assert made.status is not None
    assert made.status.wanted["conditions"][-1]["reason"] == "MPIJobMPIJobFailed"
    assert made.status.wanted["conditions"][-1]["message"] == f"MPIJob ring is failed because 1 {role} replica(s) failed."


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
    assert made.status.wanted["completionTime"]


def test_a_failing_worker_beside_a_running_launcher_does_not_turn_the_state_back_and_forth() -> None:
    """Upstream writes Running and Restarting in turns, without end."""
    view = job_view(roles={"Worker": {"restartPolicy": "ExitCode"}})
    phases = {**ALL_RUN, "ring-worker-1": "Failed"}
    first = plan(MPI, observed(view, phases), NOW)
    second = plan(MPI, observed(after(view, first), phases), NOW.replace(hour=13))
    assert first.status is not None
    assert second.status is not None
    assert second.status.wanted == first.status.wanted
    assert second.events == ()


def test_a_failing_worker_beside_a_pending_launcher_restarts_the_job_until_the_launcher_runs() -> None:
    """Upstream says Restarting as well, but makes no new worker."""
    view = job_view(roles={"Worker": {"restartPolicy": "ExitCode"}})
    phases = {**ALL_RUN, "ring-launcher": "Pending"}
    first = plan(MPI, observed(view, {**phases, "ring-worker-1": "Failed"}, exit_code=137), NOW)
    assert states(first)[-1] == "Restarting=True"
    view = after(view, first)
    second = plan(MPI, observed(view, {**phases, "ring-worker-1": "Failed"}, exit_code=137), NOW)
    assert "delete Pod/ring-worker-1" in written(second)
    assert states(plan(MPI, observed(view, phases), NOW))[-1] == "Restarting=True"
    assert states(plan(MPI, observed(view, ALL_RUN), NOW))[-1] == "Running=True"


def test_only_running_workers_are_discovered_but_all_are_hosts() -> None:
    view = job_view(slotsPerWorker=2)
    found = observed(view, {"ring-worker-0": "Pending", "ring-worker-1": "Running"})
    data = objects.config_map(found.job, found.children.pods)["data"]
    assert data["hostfile"] == "ring-worker-0 slots=2\nring-worker-1 slots=2\n"
    assert data["discover_hosts.sh"] == "#!/bin/sh\necho ring-worker-1:2"


@pytest.mark.parametrize(
    ("main_container", "command"),
    [("", "exec ${POD_NAME} -- /bin/sh"), ("side", "exec ${POD_NAME} --container side -- /bin/sh")],
)
def test_mpirun_starts_its_daemons_in_the_container_that_is_named(main_container: str, command: str) -> None:
    lines = objects.kubexec(main_container).split("\n")
    assert lines[:4] == ["#!/bin/sh", "set -x", "POD_NAME=$1", "shift"]
    assert lines[4:] == [f'/opt/kube/kubectl {command} -c "$*"']


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
    assert [(one["status"], one["reason"], one["message"]) for one in made.status.wanted["conditions"]] == [
        ("False", "MPIJobFailedValidation", message)
    ]
    again = plan(MPI, Observed(job=MPI.read(after(view, made))), NOW.replace(hour=13))
    assert again.status is not None
    assert (again.writes, again.events, again.status.wanted) == ((), (), made.status.wanted)


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
    right = job_view(status=made.status.wanted)
    assert states(plan(MPI, Observed(job=MPI.read(right)), NOW)) == ["Created=True"]


def test_a_name_that_labels_cannot_hold_fails_the_job() -> None:
    made = plan(MPI, Observed(job=MPI.read(job_view(metadata={"name": "m" * 64}, status={}))), NOW)
    assert made.writes == ()
    assert made.status is not None
    assert made.status.wanted["conditions"][-1]["type"] == "Failed"
    assert "metadata.name has 64 characters" in made.status.wanted["conditions"][-1]["message"]


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


def test_of_other_peoples_config_maps_no_contents_are_kept_in_memory() -> None:
    """Their label `app` is as common as can be."""
    ours = objects.config_map(MPI.read(job_view()), ())
    theirs = {**ours, "metadata": {"name": "dashboards", "labels": {"app": "grafana"}}}
    assert msgspec.convert(ours, HostList).data == ours["data"]
    assert msgspec.json.decode(msgspec.json.encode(theirs), type=HostList).data == {}


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
