"""The manifests in examples/ that come from guides of others reach the state that their guide promises."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, Cluster, eventually

EXAMPLES = REPOSITORY / "examples"
JOBSET = "jobset.sigs.k8s.io/jobset-name"
V1_JOB = "training.kubeflow.org/job-name"

pytestmark = pytest.mark.timeout(300)


class Example(NamedTuple):
    """Files below examples/, the job in them and its last condition; a line that its pods print, and the matches of it."""

    files: tuple[str, ...]
    job: str
    condition: str
    pods: str
    line: str
    matches: set[tuple[str, ...]]


def ranks(size: int) -> set[tuple[str, ...]]:
    return {(str(rank), str(size)) for rank in range(size)}


TRAINED = r"Rank (\d)/(\d) accuracy (?:1.00|0.9\d)"
STARTED = r"Rank (\d)/(\d) initialized"

JOBS = {
    "Master and Worker": Example(
        ("mnist-script.yaml", "v1/pytorch-mnist.yaml"),
        "pytorchjob/pytorch-simple",
        "Succeeded",
        f"{V1_JOB}=pytorch-simple",
        TRAINED,
        ranks(2),
    ),
    "the same as a TrainJob": Example(
        ("mnist-script.yaml", "v2/trainjob-mnist.yaml"),
        "trainjob/pytorch-simple",
        "Complete",
        f"{JOBSET}=pytorch-simple",
        TRAINED,
        ranks(2),
    ),
    "checkpoints on a shared volume": Example(
        ("v1/pytorch-with-storage.yaml",),
        "pytorchjob/pytorch-with-storage",
        "Succeeded",
        f"{V1_JOB}=pytorch-with-storage",
        r"Saved epoch (\d+)",
        {("5",), ("10",)},
    ),
    "a divided model": Example(
        ("v1/pytorch-fsdp.yaml",),
        "pytorchjob/pytorch-fsdp",
        "Succeeded",
        f"{V1_JOB}=pytorch-fsdp",
        r"Rank (\d)/(\d) holds (8385|8320) of 16705 parameters",
        {("0", "2", "8385"), ("1", "2", "8320")},
    ),
    "an indexed Job without an operator": Example(
        ("v1/indexed-job.yaml",), "job/pytorch-job", "Complete", "job-name=pytorch-job", STARTED, ranks(2)
    ),
    "a runtime of one's own": Example(
        ("v2/custom-runtime.yaml",),
        "trainjob/custom-runtime",
        "Complete",
        f"{JOBSET}=custom-runtime",
        r"(.* of .*, .*, INFO)",
        {("1 of 1, max_split_size_mb:512, INFO",)},
    ),
}


def apply(cluster: Cluster, namespace: str, *files: str) -> None:
    """Applies files below examples/ as they are, but for their namespace."""
    objects = [obj for file in files for obj in yaml.load_all((EXAMPLES / file).read_text(), Loader=yaml.CSafeLoader)]
    for obj in objects:
        if not obj["kind"].startswith("Cluster"):
            obj["metadata"]["namespace"] = namespace
    cluster.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(obj) for obj in objects))


has_storage = pytest.mark.embedded(why="makes the volumes that claims ask for")
MARKS: dict[str, tuple[pytest.MarkDecorator, ...]] = {
    "checkpoints on a shared volume": (has_storage, pytest.mark.long),  # tests/e2e/test_run_program.py goes on from checkpoints
    "a divided model": (has_storage,),
    "the same as a TrainJob": (pytest.mark.long,),  # tests/e2e/test_training.py trains a TrainJob of four ranks
}


@pytest.mark.parametrize("example", [pytest.param(example, id=name, marks=MARKS.get(name, ())) for name, example in JOBS.items()])
def test_an_example_does_what_its_guide_says(cluster: Cluster, namespace: str, example: Example) -> None:
    apply(cluster, namespace, *example.files)
    waited = cluster.try_kubectl(
        "wait", f"--for=condition={example.condition}", example.job, "-n", namespace, "--timeout=200s", timeout=220
    )

    def shown() -> str:
        return cluster.kubectl("logs", "-n", namespace, "-l", example.pods, "--tail=-1")

    def found() -> set[tuple[str, ...]]:
        return {match if isinstance(match, tuple) else (match,) for match in re.findall(example.line, shown())}

    assert waited.returncode == 0, waited.stderr + shown() + cluster.kubectl("describe", example.job, "-n", namespace)
    with suppress(AssertionError):  # a job may be done before the last line of its last pod is written
        eventually(lambda: found() == example.matches, seconds=10)
    assert found() == example.matches, shown() + cluster.kubectl("describe", "pods", "-n", namespace)


@pytest.mark.long
@pytest.mark.timeout(500)
def test_an_elastic_job_trains_and_is_scaled_by_an_autoscaler_of_its_name(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, "v1/pytorch-elastic.yaml")

    def scale() -> Any:
        found = cluster.get("hpa", "-n", namespace)["items"]
        return found and (found[0]["metadata"]["name"], found[0]["spec"]["minReplicas"], found[0]["spec"]["maxReplicas"])

    assert eventually(scale) == ("pytorch-elastic", 2, 4)
    cluster.kubectl(
        "wait", "--for=condition=Succeeded", "pytorchjob/pytorch-elastic", "-n", namespace, "--timeout=420s", timeout=440
    )


@pytest.mark.long
def test_a_job_with_a_time_to_live_is_deleted_after_it(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, "mnist-script.yaml", "v1/pytorch-mnist-gpu.yaml")
    job = ("pytorchjob/pytorch-mnist", "-n", namespace)
    cluster.kubectl("wait", "--for=condition=Succeeded", *job, "--timeout=200s", timeout=220)
    assert set(re.findall(TRAINED, cluster.kubectl("logs", "pytorch-mnist-master-0", "-n", namespace))) == {("0", "3")}
    cluster.kubectl("patch", *job, "--type=merge", "-p", '{"spec":{"runPolicy":{"ttlSecondsAfterFinished":1}}}')
    cluster.kubectl("wait", "--for=delete", *job, "--timeout=30s")


def test_a_quota_limits_what_jobs_of_a_namespace_ask_for_together(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, "v1/training-quota.yaml")
    hard = cluster.get("resourcequota", "training-quota", "-n", namespace)["spec"]["hard"]
    assert hard == {"nvidia.com/gpu": "16", "requests.memory": "256Gi", "limits.memory": "256Gi"}


UNKNOWN = {
    "a version that was never released": (
        {"apiVersion": "trainer.kubeflow.org/v2alpha1", "kind": "TrainJob", "metadata": {"name": "j"}},
        'no matches for kind "TrainJob" in version "trainer.kubeflow.org/v2alpha1"',
    ),
    "pods in the TrainJob": (
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "j"},
            "spec": {"runtimeRef": {"name": "torch-distributed"}, "template": {"spec": {}, "replicas": 2}},
        },
        'unknown field "spec.template"',
    ),
    "processes a node in the runtime": (
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": "r"},
            "spec": {"mlPolicy": {"torch": {"numProcPerNode": "gpu"}}, "template": {"spec": {"replicatedJobs": []}}},
        },
        "set spec.trainer.numProcPerNode of the TrainJob to a number",
    ),
    "a monitor where no Prometheus operator is": (
        {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "m"}, "spec": {}},
        'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"',
    ),
    "a time to live outside of the run policy": (
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "j"},
            "spec": {"ttlSecondsAfterFinished": 3600, "pytorchReplicaSpecs": {}},
        },
        'unknown field "spec.ttlSecondsAfterFinished"',
    ),
}


@pytest.mark.parametrize(("unknown", "complaint"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_guides_write_but_the_cluster_does_not_know_is_named(
    cluster: Cluster, namespace: str, unknown: dict[str, Any], complaint: str
) -> None:
    refused = cluster.try_kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(unknown))
    assert refused.returncode != 0
    assert complaint in refused.stderr
