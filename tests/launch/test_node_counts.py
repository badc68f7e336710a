"""Who may have another number of nodes, and what is written for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.launch.code.delivery import ImageCode
from shunter.launch.node_counts import desired_counts, next_write, require_scalable, worker_count
from shunter.launch.objects import launch
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import of_object
from shunter.operator.trainer.runtimes import shipped

RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}
GENERATION = 4
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def trainjob(
    *, nodes: int | None = 2, suspend: bool | None = None, mark: str = "", runtime: str = "shunter-torch", **more: Any
) -> Json:
    metadata: Json = {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": GENERATION}
    if mark:
        metadata["annotations"] = {"shunter.dev/resumes-after-scaling": mark}
    spec: Json = {"runtimeRef": {"name": runtime}, "trainer": {"command": ["torchrun", "train.py"]}}
    if nodes is not None:
        spec["trainer"]["numNodes"] = nodes
    if suspend is not None:
        spec["suspend"] = suspend
    metadata |= more.pop("metadata", {})
    spec["trainer"] |= more.pop("trainer", {})
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": {**spec, **more.pop("spec", {})},
        **more,
    }


def pytorchjob(*, elastic: Json | None, workers: int = 2, master: bool = False, **policy: Any) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["torchrun", "--nnodes=1:5", "t.py"]}]}}
    specs = {"Worker": {"replicas": workers, "template": template}, **({"Master": {"template": template}} if master else {})}
    spec: Json = {"pytorchReplicaSpecs": specs, "runPolicy": policy}
    if elastic is not None:
        spec["elasticPolicy"] = elastic
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "e", "namespace": "n"}, "spec": spec}


def after(job: Json, patch: Json) -> Json:
    """The job as the API server stores it with this merge patch."""
    job = copy.deepcopy(job)
    annotations = job["metadata"].setdefault("annotations", {})
    annotations |= patch["metadata"].get("annotations", {})
    job["metadata"]["annotations"] = {name: value for name, value in annotations.items() if value is not None}
    assert patch["metadata"]["resourceVersion"] == job["metadata"]["resourceVersion"]
    job["metadata"]["resourceVersion"] += "1"
    job["metadata"]["generation"] += 1
    spec = patch["spec"]
    job["spec"]["suspend"] = spec["suspend"]
    job["spec"]["trainer"] |= spec.get("trainer", {})
    return job


def written(job: Json, nodes: int, most: int = 5) -> tuple[list[Json], Json]:
    """The specs that are written one after the other, and the job in the end."""
    writes = []
    while patch := next_write(job, nodes):
        writes.append(patch["spec"])
        assert len(writes) <= most
        job = after(job, patch)
    return writes, job


def test_a_job_that_runs_is_suspended_with_its_new_number_and_resumed() -> None:
    writes, job = written(trainjob(nodes=2, suspend=False), 3)
    assert writes == [{"suspend": True, "trainer": {"numNodes": 3}}, {"suspend": False}]
    assert job["metadata"]["annotations"] == {}


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_killed_after_the_first_write_the_same_command_or_one_with_another_number_resumes_it(nodes: int) -> None:
    running = trainjob(nodes=2, suspend=False)
    killed = after(running, next_write(running, 3) or {})
    _, job = written(killed, nodes)
    assert (job["spec"]["suspend"], job["spec"]["trainer"]["numNodes"]) == (False, nodes)
    assert job["metadata"]["annotations"] == {}


def test_a_job_that_was_suspended_stays_so() -> None:
    writes, job = written(trainjob(nodes=2, suspend=True), 3)
    assert writes == [{"suspend": True, "trainer": {"numNodes": 3}}]
    assert next_write(job, 3) is None


def test_a_job_that_its_owner_suspended_after_an_interrupted_scaling_stays_suspended() -> None:
    running = trainjob(nodes=2, suspend=False)
    job = after(running, next_write(running, 3) or {})
    version = {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}}
    job = after(job, {**version, "spec": {"suspend": False}})
    version = {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}}
    job = after(job, {**version, "spec": {"suspend": True}})
    _, job = written(job, 5)
    assert (job["spec"]["suspend"], job["spec"]["trainer"]["numNodes"]) == (True, 5)


@pytest.mark.parametrize("suspend", [False, True])
def test_a_job_that_has_the_number_is_not_written(suspend: bool) -> None:
    assert next_write(trainjob(nodes=3, suspend=suspend), 3) is None


def test_a_number_that_the_runtime_gave_is_written_into_the_job() -> None:
    assert written(trainjob(nodes=None), 3)[0][0] == {"suspend": True, "trainer": {"numNodes": 3}}


REFUSED = {
    "no nodes": (
        trainjob(),
        0,
        "--nodes 0 of TrainJob n/j: it must be 1 or more",
    ),
    "a job that has ended": (
        trainjob(status={"conditions": [{"type": "Complete", "status": "True"}]}),
        3,
        "TrainJob n/j has ended (Succeeded)",
    ),
    "a job that is being deleted": (
        trainjob(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        3,
        "TrainJob n/j is being deleted",
    ),
    "a job of another manager": (
        trainjob(spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
        3,
        "is managed by kueue.x-k8s.io/multikueue",
    ),
    "a job that a queue has admitted": (
        trainjob(metadata={"labels": QUEUE}),
        3,
        "was admitted by queue team for its present number",
    ),
    "a TFJob": ({"kind": "TFJob", "metadata": {"name": "t", "namespace": "n"}}, 3, "TFJob n/t: the number of its ranks is fixed"),
    "a Job of Kubernetes": (
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b", "namespace": "n"}},
        3,
        "Job n/b: the number of its ranks is fixed",
    ),
}


@pytest.mark.parametrize(("job", "nodes", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused_is(job: Json, nodes: int, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        require_scalable(job, nodes)
    assert sentence in refused.value.message


def test_a_job_that_waits_in_a_queue_may_be_scaled() -> None:
    require_scalable(trainjob(suspend=True, metadata={"labels": QUEUE}), 3)


@pytest.mark.parametrize("name", ["shunter-torch", "torch-distributed", "jax-distributed", "xgboost-distributed"])
def test_runtimes_of_one_kind_of_pod_get_as_many_as_there_are_nodes(name: str) -> None:
    assert desired_counts(trainjob(runtime=name, trainer={"command": ["train"]}), RUNTIMES[name], 3) == {"node": 3}


def test_the_launcher_of_an_mpi_job_counts_as_a_node_where_it_trains() -> None:
    job, runtime = trainjob(runtime="deepspeed-distributed"), RUNTIMES["deepspeed-distributed"]
    assert [desired_counts(job, runtime, nodes) for nodes in (1, 2, 3)] == [
        {"node": 1, "launcher": 1},
        {"node": 1, "launcher": 1},
        {"node": 2, "launcher": 1},
    ]


def without_label(runtime: Json) -> Json:
    runtime = copy.deepcopy(runtime)
    del runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["metadata"]
    return runtime


FIXED = {
    "a runtime whose Jobs do not say that they train": (
        trainjob(),
        without_label(RUNTIMES["shunter-torch"]),
        "its runtime shunter-torch has a fixed number of pods",
    ),
    "a name that is too long for pods of that many nodes": (
        trainjob(metadata={"name": "j" * 49}),
        RUNTIMES["shunter-torch"],
        "pod names contain its name of 49 characters, and those of 3 nodes leave it at most 48",
    ),
    "claims of the JobSet": (
        trainjob(runtime="torchtune-llama3.2-1b"),
        RUNTIMES["torchtune-llama3.2-1b"],
        "the volumes of its JobSet (volumeClaimPolicies) would be deleted with it",
    ),
    "a command that says --nnodes": (
        trainjob(trainer={"command": ["sh", "-c", "torchrun --nnodes=2 t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnodes=2, so 3 nodes would not train",
    ),
    "a command that says --nnodes with a blank": (
        trainjob(trainer={"command": ["torchrun", "--nnodes", "1:2", "t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnodes 1:2",
    ),
    "a shell text of several lines": (
        trainjob(trainer={"command": ["bash", "-c", "torchrun \\\n  --nnodes=2 \\\n  --nproc-per-node=8 t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnodes=2, so 3 nodes would not train",
    ),
    "a subshell": (
        trainjob(trainer={"command": ["bash", "-c", "set -e;(torchrun --nnodes=2 t.py)"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnodes=2",
    ),
    "a torchrun that the shell looks up": (
        trainjob(trainer={"command": ["bash", "-c", "$(which torchrun) --nnodes 2 t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnodes 2",
    ),
    "an mpirun of several lines, behind another option with a value": (
        trainjob(runtime="deepspeed-distributed", trainer={"command": ["sh", "-c", "mpirun --output tag \\\n -np 2 t"]}),
        RUNTIMES["deepspeed-distributed"],
        "its mpirun command fixes its processes or hosts (-np)",
    ),
    "an mpirun with hosts": (
        trainjob(runtime="deepspeed-distributed", trainer={"command": ["mpirun", "-x", "A", "--host", "a,b", "t"]}),
        RUNTIMES["deepspeed-distributed"],
        "its mpirun command fixes its processes or hosts (--host)",
    ),
    "a command that abbreviates --nnodes": (
        trainjob(trainer={"command": ["torchrun", "--nnode=2", "t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --nnode=2",
    ),
    "an accelerate with a number of machines": (
        trainjob(trainer={"command": ["accelerate", "launch", "--num_machines", "2", "t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --num_machines 2",
    ),
    "a deepspeed with a number of nodes": (
        trainjob(trainer={"command": ["deepspeed", "--num_nodes=2", "t.py"]}),
        RUNTIMES["torch-distributed"],
        "its command sets --num_nodes=2",
    ),
    "an mpirun with a short option for the number": (
        trainjob(runtime="deepspeed-distributed", trainer={"command": ["mpirun", "-n", "2", "t"]}),
        RUNTIMES["deepspeed-distributed"],
        "its mpirun command fixes its processes or hosts (-n)",
    ),
    "an mpirun with a list of hosts of its own": (
        trainjob(runtime="deepspeed-distributed", trainer={"command": ["mpirun", "--machinefile", "/my/hosts", "t"]}),
        RUNTIMES["deepspeed-distributed"],
        "its mpirun command fixes its processes or hosts (--machinefile)",
    ),
    "an mpirun with a number": (
        trainjob(runtime="deepspeed-distributed", trainer={"command": ["mpirun", "-np", "2", "t"]}),
        RUNTIMES["deepspeed-distributed"],
        "its mpirun command fixes its processes or hosts (-np)",
    ),
}


@pytest.mark.parametrize(("job", "runtime", "sentence"), FIXED.values(), ids=FIXED)
def test_the_number_of_nodes_is_fixed_by(job: Json, runtime: Json, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        desired_counts(job, runtime, 3)
    assert sentence in refused.value.message


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (["torchrun", "--nnodes", "2", "t.py"], "without --nnodes: torchrun gets the number from the operator (PET_NNODES)."),
        (["deepspeed", "--num_nodes", "2", "t.py"], "with 3 nodes and --num_nodes=3."),
        (["accelerate", "launch", "--num_machines=2", "t.py"], "with 3 nodes and --num_machines=3."),
    ],
)
def test_a_command_that_fixes_the_number_of_nodes_is_refused_with_what_to_write(command: list[str], remedy: str) -> None:
    with pytest.raises(InputError) as refused:
        desired_counts(trainjob(trainer={"command": command}), RUNTIMES["torch-distributed"], 3)
    assert refused.value.remedy == f"Create it again {remedy}"


@pytest.mark.parametrize(
    ("runtime", "command", "counts"),
    [
        ("deepspeed-distributed", ["mpirun", "--hostfile", "/etc/mpi/hostfile", "t"], {"node": 2, "launcher": 1}),
        ("deepspeed-distributed", ["mpirun", "python", "t.py", "-H", "128"], {"node": 2, "launcher": 1}),
        ("torch-distributed", ["torchrun", "t.py", "--nnodes", "2"], {"node": 3}),
        ("torch-distributed", ["accelerate", "launch", "--num_machines", "$PET_NNODES", "t.py"], {"node": 3}),
        ("torch-distributed", ["sh", "-c", "torchrun --nnodes=${PET_NNODES:-1} t.py"], {"node": 3}),
        ("torch-distributed", ["python", "t.py", "--strategy", "deepspeed", "--num-nodes", "2"], {"node": 3}),
        ("torch-distributed", ["sh", "-c", "# torchrun --nnodes=2\npython t.py"], {"node": 3}),
        ("torch-distributed", ["sh", "-c", '[ -n "$N" ] || N=1; torchrun --nnodes=$N t.py'], {"node": 3}),
    ],
    ids=[
        "the operator's list of hosts",
        "an option of the program",
        "another of the program",
        "a number from the operator",
        "a number from the operator, with a default",
        "a launcher's name as a value",
        "a comment",
        "a number that the container may have",
    ],
)
def test_what_does_not_fix_the_number_of_nodes(runtime: str, command: list[str], counts: Json) -> None:
    assert desired_counts(trainjob(runtime=runtime, trainer={"command": command}), RUNTIMES[runtime], 3) == counts


def test_a_program_that_run_started_with_mpirun_has_a_number_of_processes() -> None:
    """Its list of hosts is the operator's, and was named as what fixes the number."""
    options, runtime = LaunchOptions(program=Program(path="t.py"), nodes=2), RUNTIMES["deepspeed-distributed"]
    job = launch(options, ImageCode(), of_object(runtime), name="j", namespace="team")[-1]
    with pytest.raises(InputError, match=r"fixes its processes or hosts \(-n\)"):
        desired_counts(job, runtime, 3)


def test_a_range_of_nodes_that_holds_the_number_is_none_of_them() -> None:
    job = trainjob(trainer={"command": ["torchrun", "--nnodes=1:4", "t.py"]})
    assert desired_counts(job, RUNTIMES["torch-distributed"], 3) == {"node": 3}


@pytest.mark.parametrize(
    ("elastic", "master", "workers"),
    [
        pytest.param({"minReplicas": 1, "maxReplicas": 4}, False, 3, id="within its bounds"),
        pytest.param({"minReplicas": 1, "maxReplicas": 4}, True, 2, id="its Master is a node"),
        pytest.param({"maxReplicas": 3, "minReplicas": 3}, False, 3, id="at its only bound"),
    ],
)
def test_an_elastic_job_gets_as_many_workers_as_make_3_nodes(elastic: Json, master: bool, workers: int) -> None:
    assert worker_count(pytorchjob(elastic=elastic, master=master), 3) == workers


@pytest.mark.parametrize(
    ("elastic", "nodes", "sentence"),
    [
        pytest.param(None, 3, "PyTorchJob n/e has no elasticPolicy", id="a job that is not elastic"),
        pytest.param({"minReplicas": 2, "maxReplicas": 4}, 5, "has minReplicas 2 and maxReplicas 4", id="too many"),
        pytest.param({"minReplicas": 2, "maxReplicas": 4}, 1, "has minReplicas 2 and maxReplicas 4", id="too few"),
        pytest.param({}, 3, "has minReplicas 2 and maxReplicas 2", id="bounds that are its number of Workers"),
        pytest.param({"minReplicas": 1, "maxReplicas": 9}, 8, "its command sets --nnodes=1:5", id="more than its command takes"),
    ],
)
def test_refused_of_a_pytorchjob_is(elastic: Json | None, nodes: int, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        worker_count(pytorchjob(elastic=elastic), nodes)
    assert sentence in refused.value.message


def test_a_master_alone_is_no_elastic_job() -> None:
    with pytest.raises(InputError, match="it needs a Worker in addition to its Master"):
        worker_count(pytorchjob(elastic={"minReplicas": 1, "maxReplicas": 4}, master=True), 1)


def test_the_command_that_stops_a_job_is_named_for_no_nodes() -> None:
    with pytest.raises(InputError) as refusal:
        require_scalable(trainjob(), 0)
    command = """kubectl patch trainjob j -n n --type=merge -p '{"spec":{"suspend":true}}'"""
    assert refusal.value.remedy == f"Stop it: {command}, or shunter delete."
