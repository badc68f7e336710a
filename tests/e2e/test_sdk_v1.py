"""The official SDK of the training operator (PyPI: kubeflow-training), unmodified."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
from kubeflow.training import TrainingClient, models
from kubeflow.training.constants import constants

from e2e.running_cluster import REPOSITORY, Cluster, eventually

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> TrainingClient:
    return TrainingClient(config_file=str(cluster.kubeconfig), namespace=namespace)


@pytest.mark.long
def test_the_example_trains_its_function_on_two_workers(cluster: Cluster, namespace: str) -> None:
    environment = {**cluster.environment, "KUBECONFIG": str(cluster.kubeconfig)}
    script = [sys.executable, str(REPOSITORY / "examples/sdk/pytorchjob.py"), namespace]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    for rank, pod in enumerate(("master-0", "worker-0")):
        assert f"[Pod sdk-pytorchjob-{pod}]: rank {rank} of 2: loss 0.0000, mean weight sum 8.00" in done.stdout
    assert "sdk-pytorchjob has Created, Succeeded" in done.stdout
    assert "pods: sdk-pytorchjob-master-0 sdk-pytorchjob-worker-0" in done.stdout


class Kind(NamedTuple):
    """A kind of job as its users write it with the SDK's models."""

    spec: type
    replicas: str
    types: tuple[str, ...]
    """Replica types, the one whose pod has the role of the master first."""


KINDS = {
    "PyTorchJob": Kind(models.KubeflowOrgV1PyTorchJobSpec, "pytorch_replica_specs", ("Master", "Worker")),
    "TFJob": Kind(models.KubeflowOrgV1TFJobSpec, "tf_replica_specs", ("Chief", "Worker")),
    "XGBoostJob": Kind(models.KubeflowOrgV1XGBoostJobSpec, "xgb_replica_specs", ("Master", "Worker")),
    "JAXJob": Kind(models.KubeflowOrgV1JAXJobSpec, "jax_replica_specs", ("Worker",)),
    "PaddleJob": Kind(models.KubeflowOrgV1PaddleJobSpec, "paddle_replica_specs", ("Master", "Worker")),
    "MPIJob": Kind(models.KubeflowOrgV1MPIJobSpec, "mpi_replica_specs", ("Launcher", "Worker")),
}
PROGRAM = "rm -f /tmp/go; echo begun; until [ -e /tmp/go ]; do sleep 0.1; done; echo over"
"""Ends when /tmp/go exists in its pod."""


def job_of(kind: str, name: str, program: str = PROGRAM) -> Any:
    """Two pods, of one replica type or of two."""
    spec, replicas, types = KINDS[kind]
    container = models.V1Container(
        name=constants.JOB_PARAMETERS[kind]["container"], image="example.com/any:1", command=["sh", "-c", program]
    )
    pod = models.V1PodSpec(containers=[container], termination_grace_period_seconds=0)
    replica = models.KubeflowOrgV1ReplicaSpec(
        replicas=2 // len(types), restart_policy="Never", template=models.V1PodTemplateSpec(spec=pod)
    )
    return getattr(models, constants.JOB_PARAMETERS[kind]["model"])(
        api_version="kubeflow.org/v1",
        kind=kind,
        metadata=models.V1ObjectMeta(name=name),
        spec=spec(run_policy=models.KubeflowOrgV1RunPolicy(clean_pod_policy="None"), **{replicas: dict.fromkeys(types, replica)}),
    )


def pods_of(kind: str, name: str) -> list[str]:
    types = KINDS[kind].types
    indexed = [f"{name}-{one.lower()}-{index}" for one in types for index in range(2 // len(types))]
    return sorted(pod.replace("-launcher-0", "-launcher") for pod in indexed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_each_kind_is_created_followed_updated_and_deleted(
    cluster: Cluster, client: TrainingClient, namespace: str, kind: str
) -> None:
    name = f"a-{kind.lower()}"
    client.create_job(job_of(kind, name))
    running = client.wait_for_job_conditions(
        name, job_kind=kind, expected_conditions={"Running"}, wait_timeout=60, polling_interval=1
    )
    assert running.kind == kind
    assert client.is_job_created(name, job_kind=kind)
    assert client.is_job_running(name, job_kind=kind)
    assert not client.is_job_restarting(name, job_kind=kind)

    names = client.get_job_pod_names(name)
    assert sorted(names) == pods_of(kind, name)
    assert len(client.get_job_pods(name, is_master=True)) == 1
    assert client.get_job_pod_names(name, replica_type="worker", replica_index=0) == [f"{name}-worker-0"]

    job = client.get_job(name, job_kind=kind)
    job.metadata.labels = {"team": "a"}
    client.update_job(job, name, job_kind=kind)
    assert [(one.metadata.name, one.metadata.labels) for one in client.list_jobs(job_kind=kind)] == [(name, {"team": "a"})]

    for pod in names:
        cluster.kubectl("wait", f"pod/{pod}", "-n", namespace, "--for=condition=Ready", "--timeout=30s")
        touched = cluster.try_kubectl("exec", pod, "-n", namespace, "--", "touch", "/tmp/go")
        assert touched.returncode in (0, 137), touched.stderr  # the container may end before it does, and kill it
    logs, _ = client.get_job_logs(name, job_kind=kind, is_master=False, follow=True)
    assert logs == dict.fromkeys(names, "begunover"), "as the SDK joins lines"
    done = client.wait_for_job_conditions(name, job_kind=kind, wait_timeout=60, polling_interval=1)
    assert client.is_job_succeeded(job=done, job_kind=kind)
    assert not client.is_job_running(job=done, job_kind=kind)
    assert not client.is_job_failed(job=done, job_kind=kind)
    assert len(client.get_job_conditions(job=done, job_kind=kind)) >= 2

    client.delete_job(name, job_kind=kind)
    assert client.list_jobs(job_kind=kind) == []
    eventually(lambda: client.get_job_pod_names(name) == [])


def test_a_function_of_a_tfjob_runs_in_every_replica(client: TrainingClient) -> None:
    def train(parameters: dict[str, int]) -> None:
        import json
        import os

        config = json.loads(os.environ["TF_CONFIG"])
        print(sorted(config["cluster"]), config["task"], parameters["epochs"])

    client.create_job(
        name="tf",
        job_kind="TFJob",
        train_func=train,
        parameters={"epochs": 3},
        num_chief_replicas=1,
        num_ps_replicas=1,
        num_workers=1,
    )
    client.wait_for_job_conditions("tf", job_kind="TFJob", wait_timeout=60, polling_interval=1)
    logs, _ = client.get_job_logs("tf", job_kind="TFJob")
    assert logs == {"tf-chief-0": "['chief', 'ps', 'worker'] {'type': 'chief', 'index': 0} 3\n"}


def test_a_failed_job_says_why_in_logs_and_events(client: TrainingClient) -> None:
    client.create_job(job_of("PyTorchJob", "bad", "echo no data; exit 1"))
    with pytest.raises(RuntimeError, match=r"PyTorchJob .*/bad is Failed"):
        client.wait_for_job_conditions("bad", wait_timeout=60, polling_interval=1)
    assert client.is_job_failed("bad")
    logs, events = client.get_job_logs("bad", verbose=True)
    assert logs == {"bad-master-0": "no data\n"}
    assert any("Created pod: bad-master-0" in event for event in events["pytorchjob/bad"])


def test_packages_to_install_that_are_there_need_no_network(client: TrainingClient) -> None:
    def train() -> None:
        import yaml

        print(yaml.safe_load("a: 1"))

    client.create_job(name="packages", train_func=train, packages_to_install=["pyyaml"])
    client.wait_for_job_conditions("packages", wait_timeout=60, polling_interval=1)
    logs, _ = client.get_job_logs("packages")
    assert logs["packages-master-0"].endswith("{'a': 1}\n")


def test_what_the_api_refuses_is_an_error_of_create_job(client: TrainingClient) -> None:
    job = job_of("PyTorchJob", "refused")
    job.spec.pytorch_replica_specs["Master"].template.spec.containers[0].name = "other"
    with pytest.raises(RuntimeError, match="Failed to create PyTorchJob") as raised:
        client.create_job(job)
    body = json.loads(str(raised.value).partition("HTTP response body: ")[2].strip())
    assert body["code"] == 403
    assert "pytorch" in body["message"]
