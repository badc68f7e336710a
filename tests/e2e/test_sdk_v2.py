"""The official SDK of Trainer v2 (PyPI: kubeflow), unmodified, through its Kubernetes backend."""

from __future__ import annotations

import base64
import importlib.util
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    S3DatasetInitializer,
    TorchTuneConfig,
    TrainerClient,
    TrainerType,
)
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds,
    Annotations,
    ContainerPatch,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    Name,
    PodSpecPatch,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainerArgs,
    TrainerCommand,
    TrainingRuntimeSpecPatch,
)

from e2e.running_cluster import REPOSITORY, Cluster, eventually
from shunter.operator.trainer.runtimes import shipped

RUNTIMES = str(Path(__file__).parent / "manifests/sdk-runtimes.yaml")
TUNE = "torchtune-llama3.2-1b"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> TrainerClient:
    """In a namespace with runtimes of its own: `plain`, and one for BuiltinTrainer."""
    cluster.kubectl("apply", "-n", namespace, "-f", RUNTIMES)
    return TrainerClient(KubernetesBackendConfig(namespace=namespace, config_file=str(cluster.kubeconfig)))


def logs(client: TrainerClient, name: str, step: str = "node-0") -> list[str]:
    return list(client.get_job_logs(name, step=step))


def with_config_map(name: str, mount_path: str, *, items: list[dict[str, str]] | None = None, **container: Any) -> RuntimePatch:
    """Shows a ConfigMap in the pods of the training nodes, which get a label."""
    source = {"name": name, **({"items": items} if items else {})}
    mount = {"name": name, "mountPath": mount_path}
    pod = PodTemplatePatch(
        metadata={"labels": {"patched": "yes"}},
        spec=PodSpecPatch(
            volumes=[{"name": name, "configMap": source}],
            containers=[ContainerPatch(name="node", volume_mounts=[mount], **container)],
        ),
    )
    node = ReplicatedJobPatch(name="node", template=JobTemplatePatch(spec=JobSpecPatch(template=pod)))
    return RuntimePatch(TrainingRuntimeSpecPatch(JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=[node]))))


@pytest.mark.long
def test_the_example_trains_its_function_on_two_nodes(cluster: Cluster, namespace: str) -> None:
    environment = {**cluster.environment, "KUBECONFIG": str(cluster.kubeconfig)}
    script = [sys.executable, str(REPOSITORY / "examples/sdk/trainjob.py"), namespace]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "torch-distributed" in done.stdout.splitlines()[0]
    means = dict(re.findall(r"rank (\d) of 2: loss 0\.0\d+, mean weight sum (\S+)", done.stdout))
    assert means == {"0": "8.00", "1": "8.00"}, "both ranks ended with one model, that of the sum"
    assert "is Complete on 2 nodes" in done.stdout


@pytest.mark.embedded(why="has from the start what an installation brings to a real cluster")
def test_the_version_served_may_be_read_by_everybody(cluster: Cluster, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    shown = cluster.kubectl(
        "get", "configmap/kubeflow-trainer-public", "-n", "kubeflow-system", "-o", "jsonpath={.data.kubeflow_trainer_version}",
        f"--as=system:serviceaccount:{namespace}:default", "--as-group=system:authenticated",
    )  # fmt: skip
    assert shown == "v2.3.0"
    TrainerClient(KubernetesBackendConfig(namespace=namespace, config_file=str(cluster.kubeconfig)))
    assert caplog.messages == [], "the SDK warns when it is not there"


def test_runtimes_of_the_namespace_hide_those_of_the_cluster(client: TrainerClient) -> None:
    runtimes = {runtime.name: runtime for runtime in client.list_runtimes()}
    assert runtimes.keys() >= {runtime["metadata"]["name"] for runtime in shipped()}, "each has what the SDK wants of it"
    assert runtimes["torch-distributed"].kind.value == "ClusterTrainingRuntime"
    assert runtimes["plain"].kind.value == "TrainingRuntime"
    assert runtimes[TUNE].kind.value == "TrainingRuntime"
    assert runtimes[TUNE].trainer.trainer_type is TrainerType.BUILTIN_TRAINER
    torch = client.get_runtime("torch-distributed").trainer
    assert (torch.framework, torch.num_nodes, torch.command[0]) == ("torch", 1, "bash")
    with pytest.raises(RuntimeError, match="no-such-runtime"):
        client.get_runtime("no-such-runtime")


def test_runtime_packages_are_those_of_its_environment(client: TrainerClient, capsys: pytest.CaptureFixture[str]) -> None:
    client.get_runtime_packages(client.get_runtime("plain"))
    shown = capsys.readouterr().out
    assert f"Python: {sys.version.split()[0]}" in shown
    assert re.search(r"^torch +\d", shown, re.MULTILINE)
    assert client.list_jobs() == [], "the job that looked is gone"


def test_a_container_runs_with_every_option(client: TrainerClient, cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("create", "configmap", "words", "-n", namespace, "--from-literal=word=hello")
    name = client.train(
        runtime="plain",
        trainer=CustomTrainerContainer(
            image="example.com/any:1", num_nodes=2, resources_per_node={"cpu": 1, "memory": "64Mi"}, env={"WHO": "sdk"}
        ),
        options=[
            Name("chosen"),
            Labels({"team": "a"}),
            Annotations({"note": "b"}),
            TrainerCommand(["sh", "-c", 'echo $(cat /words/word) $WHO "$@"', "sh"]),
            TrainerArgs(["one", "two"]),
            ActiveDeadlineSeconds(90),
            with_config_map("words", "/words"),
        ],
    )
    assert name == "chosen"
    seen = []
    job = client.wait_for_job_status(name, timeout=60, polling_interval=1, callbacks=[lambda job: seen.append(job.status)])
    assert (job.status, job.num_nodes, seen[-1]) == ("Complete", 2, "Complete")
    assert [(step.name, step.device, step.device_count) for step in job.steps] == [("node-0", "cpu", "1"), ("node-1", "cpu", "1")]
    for step in ("node-0", "node-1"):
        assert logs(client, name, step) == ["hello sdk one two"]
    assert len(cluster.get("pods", "-n", namespace, "-l", "patched=yes")["items"]) == 2
    stored = cluster.get("trainjob", name, "-n", namespace)
    assert (stored["metadata"]["labels"], stored["metadata"]["annotations"]["note"]) == ({"team": "a"}, "b")
    assert stored["spec"]["activeDeadlineSeconds"] == 90
    assert stored["spec"]["trainer"]["resourcesPerNode"]["limits"]["memory"] == "64Mi"
    assert [patch["manager"] for patch in stored["spec"]["runtimePatches"]] == ["trainer.kubeflow.org/kubeflow-sdk"]


def test_jobs_are_listed_with_events_and_logs_and_deleted_with_their_pods(
    client: TrainerClient, cluster: Cluster, namespace: str
) -> None:
    trainer = CustomTrainerContainer(image="example.com/any:1")
    command = TrainerCommand(["sh", "-c", "for i in 1 2 3; do echo tick $i; sleep 0.3; done; sleep 600"])
    name = client.train(runtime="plain", trainer=trainer, options=[command])
    assert client.wait_for_job_status(name, {"Running"}, timeout=60, polling_interval=1).status == "Running"
    followed = client.get_job_logs(name, follow=True)
    assert [next(followed) for _ in range(3)] == ["tick 1", "tick 2", "tick 3"], "lines come while the pod runs"
    plain = client.get_runtime("plain")
    assert [job.name for job in client.list_jobs(runtime=plain)] == [name]
    assert client.list_jobs(runtime=client.get_runtime("torch-distributed")) == []
    eventually(
        lambda: ("Pod", "Started") in {(event.involved_object_kind, event.reason) for event in client.get_job_events(name)}
    )
    client.delete_job(name)
    assert list(followed) == [], "the stream ends with its pod"
    eventually(lambda: not cluster.get("pods,jobsets.jobset.x-k8s.io", "-n", namespace)["items"])
    with pytest.raises(RuntimeError, match=name):
        client.get_job(name)


def test_a_function_that_raises_fails_its_job_and_its_logs_say_why(client: TrainerClient) -> None:
    def train(lost: str) -> None:
        raise ValueError(f"no data in {lost}")

    name = client.train(runtime="plain", trainer=CustomTrainer(func=train, func_args={"lost": "/data"}))
    with pytest.raises(RuntimeError, match="is Failed"):
        client.wait_for_job_status(name, timeout=60, polling_interval=1)
    assert client.wait_for_job_status(name, {"Failed"}, timeout=60, polling_interval=1).steps[0].status == "Failed"
    assert "ValueError: no data in /data" in logs(client, name)


REFUSED = {
    "a name that Kubernetes does not take": ([Name("Not_A_Name")], "RFC 1123"),
    "variables of a node, which are the trainer's": (
        [with_config_map("words", "/words", env=[{"name": "A", "value": "b"}])],
        "must not have envs for the dataset-initializer, model-initializer, node containers",
    ),
}


@pytest.mark.parametrize(("options", "complaint"), REFUSED.values(), ids=REFUSED)
def test_what_the_api_refuses_is_an_error_of_train(client: TrainerClient, options: list[Any], complaint: str) -> None:
    with pytest.raises(RuntimeError, match="Failed to create TrainJob") as raised:
        client.train(runtime="plain", trainer=CustomTrainerContainer(image="example.com/any:1"), options=options)
    assert complaint in str(raised.value.__cause__)


def test_a_builtin_trainer_waits_for_its_initializers_and_runs_the_recipe(
    client: TrainerClient, cluster: Cluster, namespace: str
) -> None:
    name = client.train(
        runtime=client.get_runtime(TUNE),
        initializer=Initializer(
            dataset=S3DatasetInitializer(
                storage_uri="s3://data/alpaca", endpoint="http://store:9000", access_key_id="me", region="here"
            ),
            model=HuggingFaceModelInitializer(storage_uri="hf://meta/llama", ignore_patterns=["*.bin"], access_token="secret"),
        ),
        trainer=BuiltinTrainer(
            config=TorchTuneConfig(epochs=3, batch_size=4, peft_config=LoraConfig(lora_rank=8), resources_per_node={"cpu": 1})
        ),
    )
    job = client.wait_for_job_status(name, timeout=90, polling_interval=1)
    assert {step.name: step.status for step in job.steps} == dict.fromkeys(
        ("dataset-initializer", "model-initializer", "node-0"), "Succeeded"
    )
    assert logs(client, name, "dataset-initializer") == ["dataset s3://data/alpaca from http://store:9000 in here, key me"]
    assert logs(client, name, "model-initializer") == ["model hf://meta/llama without *.bin, token secret"]
    (line,) = logs(client, name)
    assert line.startswith("tune run lora_finetune_single_device --config llama3_2/1B_lora_single_device output_dir=/workspace")
    assert line.endswith("epochs=3 model.lora_rank=8 model.lora_attn_modules=[q_proj,v_proj,output_proj]")
    assert "batch_size=4" in line


def test_a_function_is_run_by_mpirun_in_the_launcher_which_is_the_first_node(client: TrainerClient) -> None:
    def train() -> None:
        print("trained")

    tools_first = f"/opt/tools:{Path(sys.executable).parent}:/usr/bin:/bin"
    name = client.train(runtime="mpi", trainer=CustomTrainer(func=train, num_nodes=2, env={"PATH": tools_first}))
    job = client.wait_for_job_status(name, timeout=90, polling_interval=1)
    assert {step.name: step.pod_name.rpartition("-")[0] for step in job.steps}["node-0"] == f"{name}-launcher-0-0"
    *hosts, last = logs(client, name)
    assert (set(hosts), last) == ({f"{name}-{part}-0-0.{name} slots=1" for part in ("launcher", "node")}, "trained")


def wheel(name: str, source: str) -> bytes:
    """A wheel of one module."""
    files = {
        f"{name}.py": source,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{name}-1.0.dist-info/RECORD"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for path, text in {**files, f"{name}-1.0.dist-info/RECORD": record}.items():
            target.writestr(path, text)
    return archive.getvalue()


def test_packages_to_install_come_from_an_index_that_pods_reach(client: TrainerClient, cluster: Cluster, namespace: str) -> None:
    def train() -> None:
        import shuntersample  # type: ignore[import-not-found]

        print(shuntersample.WORD)

    file = "shuntersample-1.0-py3-none-any.whl"
    index = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "index", "namespace": namespace},
        "data": {"page": f'<a href="{file}">{file}</a>'},
        "binaryData": {"wheel": base64.b64encode(wheel("shuntersample", "WORD = 'installed'")).decode()},
    }
    cluster.apply(index)
    items = [{"key": "page", "path": "shuntersample/index.html"}, {"key": "wheel", "path": f"shuntersample/{file}"}]
    name = client.train(
        runtime="plain",
        trainer=CustomTrainer(func=train, packages_to_install=["shuntersample"], pip_index_urls=["file:///index"]),
        options=[with_config_map("index", "/index", items=items)],
    )
    job = client.wait_for_job_status(name, {"Complete", "Failed"}, timeout=90, polling_interval=1)
    shown = logs(client, name)
    assert (job.status, shown[-1]) == ("Complete", "installed"), shown
    assert importlib.util.find_spec("shuntersample") is None, "what a pod installs stays in the pod"
