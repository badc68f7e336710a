"""OpenShift's terms on a real control plane: every pod that we install or add to passes Pod Security `restricted` with a user and
a group that the cluster chooses, and the operator works as such a user."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.installed import Endpoints, Replica, admin, install, is_admitting, is_there, until
from conformance.process_cluster import ProcessCluster
from conformance.test_install import VARIANTS
from control_plane import ControlPlane
from install.charts import rendered
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, NAMESPACES, PODS, SERVICE_ACCOUNTS, TRAIN_JOBS, Resource
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

USER, GROUP = 1000680000, 1000680000
"""As OpenShift's restricted-v2 takes them from the range of a namespace."""
PROJECT = "team-a"
POD_CONTEXT = {"runAsNonRoot": True, "fsGroup": GROUP, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER_CONTEXT = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsUser": USER}
AS_ANYBODY = (
    # CAP_DAC_READ_SEARCH stands for an image that everybody may read: the interpreter of the tests may be in root's home.
    *("setpriv", f"--reuid={USER}", "--regid=0", "--clear-groups", "--no-new-privs"),
    *("--bounding-set=-all,+dac_read_search", "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("openshift") / "plane") as plane:
        yield plane


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> ProcessCluster:
    """Without its node: pods that nobody runs will do here."""
    return ProcessCluster(plane, tmp_path_factory.mktemp("node"))


async def restricted_project(client: Client) -> None:
    """A namespace that refuses every pod outside the standard."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await client.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PROJECT, "labels": labels}})
    await until(lambda: is_there(client, SERVICE_ACCOUNTS, "default", PROJECT))


@pytest.mark.parametrize("variant", VARIANTS)
async def test_every_pod_of_an_installation_is_admitted_with_a_user_and_a_group_of_the_clusters(
    plane: ControlPlane, variant: str
) -> None:
    async with admin(plane) as client:
        await restricted_project(client)
        templates = [obj["spec"]["template"]["spec"] for obj in rendered(VARIANTS[variant]) if obj["kind"] in WORKLOADS]
        assert templates
        for spec in templates:
            await client.create(PODS, pod(as_scc_would(spec)), PROJECT, dry_run=True)


WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob")


def as_scc_would(spec: Json) -> Json:
    """The pod with user and group, and nothing else that it does not say itself."""
    containers = [{**one, "securityContext": {**one["securityContext"], "runAsUser": USER}} for one in spec["containers"]]
    context = {**spec["securityContext"], "fsGroup": GROUP}
    return {**spec, "serviceAccountName": "default", "securityContext": context, "containers": containers}


def pod(spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": PROJECT}, "spec": spec}


async def test_such_a_project_does_refuse_what_is_outside_the_standard(plane: ControlPlane) -> None:
    async with admin(plane) as client:
        await restricted_project(client)
        with pytest.raises(Forbidden, match="violates PodSecurity"):
            await client.create(PODS, pod({"containers": [{"name": "a", "image": "a"}]}), PROJECT, dry_run=True)


def template(name: str, **more: Any) -> Json:
    container = {"name": name, "image": "python", "command": ["sleep", "1d"], "securityContext": CONTAINER_CONTEXT, **more}
    return {"spec": {"securityContext": POD_CONTEXT, "containers": [container]}}


def v1_job(resource: Resource, field: str, name: str, *roles: str) -> Json:
    specs = {role: {"replicas": 1, "template": template(name)} for role in roles}
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, "namespace": PROJECT}}
    return {**head, "spec": {field: specs}}


FLUX = {
    "apiVersion": CLUSTER_TRAINING_RUNTIMES.api_version,
    "kind": CLUSTER_TRAINING_RUNTIMES.kind,
    "metadata": {"name": "flux-restricted", "labels": {"trainer.kubeflow.org/framework": "flux"}},
    "spec": {
        "mlPolicy": {"numNodes": 1, "flux": {"numProcPerNode": 1}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": template("node")},
                        },
                    }
                ]
            }
        },
    },
}
TRAIN_JOB = {
    "apiVersion": TRAIN_JOBS.api_version,
    "kind": TRAIN_JOBS.kind,
    "metadata": {"name": "flux", "namespace": PROJECT},
    "spec": {"runtimeRef": {"name": "flux-restricted"}},
}


@pytest.fixture
def directory_for_anybody() -> Iterator[Path]:
    """pytest's own are readable by their owner alone."""
    with tempfile.TemporaryDirectory(prefix="openshift-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
async def test_the_operator_works_as_any_user_and_the_containers_that_it_adds_are_admitted(
    plane: ControlPlane, directory_for_anybody: Path
) -> None:
    """A pod whose user wrote all of it as `restricted` asks must not be refused for the one container that the operator adds:
    init-pytorch, kubectl-delivery, flux-installer."""
    replica = Replica(plane, directory_for_anybody, launcher=AS_ANYBODY)
    for file in directory_for_anybody.iterdir():
        file.chmod(0o644)
    pytorch = v1_job(PYTORCH_JOBS, "pytorchReplicaSpecs", "pytorch", "Master", "Worker")
    mpi = v1_job(MPI_JOBS, "mpiReplicaSpecs", "mpi", "Launcher", "Worker")
    async with admin(plane) as client:
        await restricted_project(client)
        await install(client)
        replica.start()
        try:
            async with Endpoints(client) as endpoints:
                endpoints.add(replica)
                await asyncio.to_thread(replica.wait_ready)
                assert status_of(replica.pid)["Uid"].split()[0] == str(USER)
                await until(lambda: is_admitting(client, PROJECT))
                await client.create(PYTORCH_JOBS, pytorch, PROJECT)
                await client.create(MPI_JOBS, mpi, PROJECT)
                await client.apply(CLUSTER_TRAINING_RUNTIMES, FLUX)
                await client.create(TRAIN_JOBS, TRAIN_JOB, PROJECT)
                added = {"init-pytorch", "kubectl-delivery", "flux-installer"}

                async def are_there() -> bool:
                    pods = (await client.list(PODS, PROJECT)).items
                    return added <= {one["name"] for pod in pods for one in pod["spec"].get("initContainers") or []}

                await until(are_there)
        finally:
            replica.stop()


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
