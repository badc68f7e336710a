"""The objects beside the pods of an MPIJob: host list, scripts, and when they are changed."""

from __future__ import annotations

import msgspec
import pytest

from mpi_jobs import MPI, job_view, observed
from shunter.operator.training.mpi import objects
from shunter.operator.training.mpi.objects import HostList


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


def test_of_other_peoples_config_maps_no_contents_are_kept_in_memory() -> None:
    """Their label `app` is as common as can be."""
    ours = objects.config_map(MPI.read(job_view()), ())
    theirs = {**ours, "metadata": {"name": "dashboards", "labels": {"app": "grafana"}}}
    assert msgspec.convert(ours, HostList).data == ours["data"]
    assert msgspec.json.decode(msgspec.json.encode(theirs), type=HostList).data == {}


def test_every_host_has_the_slots_of_the_job_and_a_launcher_with_gpus_is_one() -> None:
    gpu = {"template": {"spec": {"containers": [{"name": "m", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}
    job = MPI.read(job_view(1, roles={"Launcher": gpu}, slotsPerWorker=4))
    assert objects.hostfile(job) == "ring-launcher slots=4\nring-worker-0 slots=4\n"
    assert objects.hostfile(MPI.read(job_view(1))) == "ring-worker-0 slots=1\n"


def test_the_launcher_may_run_commands_in_its_own_workers_only() -> None:
    assert objects.role(MPI.read(job_view(2)))["rules"][1]["resourceNames"] == ["ring-worker-0", "ring-worker-1"]
    assert "resourceNames" not in objects.role(MPI.read(job_view(0)))["rules"][1]  # as upstream
