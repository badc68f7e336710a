"""The pods of an MPIJob: what a worker and the launcher are made of."""

from __future__ import annotations

from typing import Any

import pytest

from mpi_jobs import IMAGE, MPI, job_view
from shunter.api.meta import Json
from shunter.operator.training.mpi.pods import launcher, launcher_environment, worker

GPU = {"template": {"spec": {"containers": [{"name": "main", "image": "img:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}


def _template(**container: Any) -> Json:
    return {"template": {"spec": {"containers": [{"name": "main", "image": "img:1", **container}, {"name": "side"}]}}}


@pytest.mark.parametrize(
    ("container", "runs"),
    [
        ({}, {"command": ["sleep"], "args": ["365d"]}),
        ({"args": ["-v"]}, {"command": ["sleep"], "args": ["365d"]}),
        ({"command": ["/usr/sbin/sshd"]}, {"command": ["/usr/sbin/sshd"]}),
    ],
    ids=["nothing", "arguments only", "a command of its own"],
)
def test_a_worker_sleeps_until_mpirun_comes_unless_it_has_a_command(container: Json, runs: Json) -> None:
    first, second = worker(MPI.read(job_view(roles={"Worker": _template(**container)})), 0)["spec"]["containers"]
    assert {key: first[key] for key in ("command", "args") if key in first} == runs
    assert second == {"name": "side"}


def test_a_worker_can_read_the_script_only_and_the_launcher_all_three_files() -> None:
    job = MPI.read(job_view())
    files = [
        {item["key"]: item["mode"] for volume in pod["spec"]["volumes"] for item in volume.get("configMap", {}).get("items", [])}
        for pod in (worker(job, 1), launcher(job, IMAGE))
    ]
    assert files == [{"kubexec.sh": 0o555}, {"kubexec.sh": 0o555, "hostfile": 0o444, "discover_hosts.sh": 0o555}]


@pytest.mark.parametrize(("role", "hidden"), [(GPU, []), (_template(), ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"])])
def test_a_launcher_that_does_not_train_sees_no_gpus(role: Json, hidden: list[str]) -> None:
    named = [variable["name"] for variable in launcher_environment(MPI.read(job_view(roles={"Launcher": role})))]
    assert [name for name in named if name.startswith("NVIDIA")] == hidden


def test_variables_of_intel_mpi_that_the_user_sets_stay() -> None:
    own = {"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "ssh"}
    pod = launcher(MPI.read(job_view(roles={"Launcher": _template(env=[own])})), IMAGE)
    variables = [one for one in pod["spec"]["containers"][0]["env"] if one["name"] == own["name"]]
    assert variables == [own]


def test_the_launcher_waits_for_kubectl_after_its_own_init_containers() -> None:
    role = _template()
    role["template"]["spec"]["initContainers"] = [{"name": "data", "image": "data:1"}]
    role["template"]["spec"]["serviceAccountName"] = "trainer"
    spec = launcher(MPI.read(job_view(roles={"Launcher": role})), IMAGE)["spec"]
    assert [(one["name"], one["image"]) for one in spec["initContainers"]] == [("data", "data:1"), ("kubectl-delivery", IMAGE)]
    assert spec["serviceAccountName"] == "trainer"


def test_a_pod_keeps_the_templates_labels_and_annotations_but_no_finalizers() -> None:
    role = _template()
    role["template"]["metadata"] = {"labels": {"team": "a"}, "annotations": {"note": "1"}, "finalizers": ["x/y"]}
    metadata = worker(MPI.read(job_view(roles={"Worker": role})), 3)["metadata"]
    assert (metadata["name"], metadata["labels"]["team"], metadata["annotations"]) == ("ring-worker-3", "a", {"note": "1"})
    assert "finalizers" not in metadata
