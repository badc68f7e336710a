"""Which pods are ranks, how many ranks there are, and what is said of containers that are none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.evidences import ended, failed, group_pod, log, pod, runs, seen, traceback, train_job, v1
from doctor.rule_cases import CUDA, DENIED, RESET, UNKNOWN
from job_evidence import NOW, v1_pod, v2_job
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Log
from shunter.doctor.rank_locations import processes, rank_count, ranks_by_pod
from shunter.doctor.text import report_lines
from shunter.jobs.training_pods import pods_by_rank

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("job", "jobset", "count"),
    [
        pytest.param(v1("MPIJob", Launcher=1, Worker=2), None, 4, id="an MPIJob has slots in its workers"),
        pytest.param(v1("TFJob", Chief=1, Worker=2, PS=2, Evaluator=1), None, 3, id="servers and evaluators are no ranks"),
        pytest.param(v1("PyTorchJob", Master=1, Worker=3), None, 4, id="each pod"),
        pytest.param(*train_job(None, model_initializer=1, node=3), 3, id="initializers are no ranks"),
        pytest.param(*train_job(2, launcher=1, node=2), 2, id="a launcher that is no node"),
        pytest.param(*train_job(3, launcher=1, node=2), 3, id="a launcher that is a node as well"),
        pytest.param(*train_job(1, launcher=1), 1, id="a launcher alone"),
        pytest.param(v2_job(None), None, 0, id="a number that only the runtime knows"),
    ],
)
def test_how_many_ranks_a_job_has_before_its_pods_are_there(job: Json, jobset: Json | None, count: int) -> None:
    assert rank_count(job, {}, jobset) == count


AUTO = [{"name": "PET_NPROC_PER_NODE", "value": "auto"}]


@pytest.mark.parametrize(
    ("container", "count"),
    [
        ({"env": AUTO, "resources": {"limits": {"nvidia.com/gpu": "4", "nvidia.com/gpumem": "8000"}}}, 4),
        ({"env": AUTO, "resources": {"limits": {"nvidia.com/gpumem": "8000", "nvidia.com/gpu": 4}}}, 4),
        ({"env": AUTO, "resources": {"limits": {"gpu.intel.com/i915": "4"}}}, 4),
        ({"env": AUTO, "resources": {"limits": {"nvidia.com/gpu.shared": "4"}}}, 4),
        ({"env": AUTO, "resources": {"limits": {"cpu": "4"}}}, 1),
        ({"command": ["torchrun", "--nproc-per-node=gpu", "a.py"], "resources": {"limits": {"amd.com/gpu": "2"}}}, 2),
        ({"command": ["torchrun", "--nproc_per_node", "3", "a.py"], "env": AUTO}, 3),
        ({"command": ["torchrun", "--nproc-per", "3", "a.py"]}, 3),
        ({"command": ["bash", "-c", "torchrun \\\n --nnodes=2 \\\n --nproc-per-node=8 a.py"]}, 8),
        (
            {
                "command": ["bash", "-c", "pip install -q deepspeed\npython a.py"],
                "resources": {"limits": {"nvidia.com/gpu": "8"}},
            },
            1,
        ),
        ({"command": ["python", "a.py", "--strategy", "deepspeed", "--num-gpus", "2"]}, 1),
        ({"command": ["torchrun", "--nproc-per-node", "$(N)", "a.py"], "env": [{"name": "PET_NPROC_PER_NODE", "value": "2"}]}, 2),
        (
            {
                "command": ["python", "-m", "torch.distributed.launch", "a.py"],
                "env": [{"name": "PET_NPROC_PER_NODE", "value": "2"}],
            },
            2,
        ),
        ({"command": ["sh", "-c", "cd /x && exec torchrun --nproc_per_node=2 a.py"]}, 2),
        (
            {
                "command": ["sh", "-c", 'if [ -z "$N" ]; then N=1; fi; torchrun --nproc-per-node=$N a.py'],
                "env": [{"name": "N", "value": "8"}, {"name": "PET_NPROC_PER_NODE", "value": "8"}],
            },
            8,
        ),
        ({"command": ["python", "a.py", "--nproc-per-node", "4"]}, 1),
        ({"command": ["tune", "run", "--nnodes", "2", "--nproc_per_node", "8", "full_finetune_distributed"]}, 8),
        ({"command": ["python", "-m", "paddle.distributed.launch"], "args": ["--nproc_per_node=4", "a.py"]}, 4),
        ({"command": ["sh", "-c", "colossalai run \\\n --nproc_per_node 2 a.py"]}, 2),
        ({"command": ["sh", "-c", "tune run single_device; python a.py --nproc_per_node 8"]}, 1),
        ({"command": ["accelerate", "launch", "--num_processes", "8", "--num_machines=2", "a.py"]}, 4),
        ({"command": ["deepspeed", "--num_gpus=8", "a.py"]}, 8),
        ({"command": ["python", "a.py"], "env": AUTO, "resources": {"limits": {"nvidia.com/gpu": "4"}}}, 1),
        ({"env": [*AUTO, {"name": "PET_NPROC_PER_NODE", "value": "2"}], "resources": {"limits": {"nvidia.com/gpu": "4"}}}, 2),
    ],
)
def test_how_many_ranks_a_launcher_starts_in_a_pod(container: Json, count: int) -> None:
    """For `auto` one a device, whatever the resource is called; the last variable of a name counts."""
    assert processes(pod(0, container=container)) == count


FAILED_STATUS = {"conditions": [{"type": "Failed", "status": "True", "reason": "x", "message": "y"}]}
FIRST, LAST = (0, 1), (1, 0)
"""The places of launcher and node in a JobSet. In that of the runtime deepspeed-distributed the launcher is the last."""
BOTH, NODE_ALONE = ("j-node-0-0", "j-launcher-0-0"), ("j-node-0-0",)


@pytest.mark.parametrize(
    ("nodes", "order", "hosts", "ranks", "count"),
    [
        (None, LAST, BOTH, {"node-0": (0,), "launcher-0": (1,)}, 2),
        (1, LAST, BOTH, {"node-0": (0,), "launcher-0": (1,)}, 2),
        (None, FIRST, BOTH, {"launcher-0": (0,), "node-0": (1,)}, 2),
        (1, FIRST, NODE_ALONE, {"node-0": (0,)}, 1),
        (2, FIRST, None, {"launcher-0": (0,), "node-0": (1,)}, 2),
        (None, LAST, None, {"node-0": (0,)}, 0),
        (1, LAST, None, {"node-0": (0,)}, 0),
        (None, FIRST, None, {}, 0),
    ],
)
def test_a_launcher_has_a_rank_where_it_is_a_node(
    nodes: int | None,
    order: tuple[int, int],
    hosts: tuple[str, ...] | None,
    ranks: dict[str, tuple[int, ...]],
    count: int,
) -> None:
    """The hostfile says it, else numNodes; of one node that is the same, and what depends on it is not said."""
    train, jobset = train_job(nodes, launcher=1, node=1)
    pods = [group_pod("launcher", order[0], group=order[0]), group_pod("node", order[1], group=order[1])]
    assert ranks_by_pod(train, pods, jobset, hosts) == ranks
    assert rank_count(train, ranks, jobset, hosts, pods) == count


@pytest.mark.parametrize("there", [3, 4])
def test_a_launcher_whose_jobset_is_unknown_may_be_the_last_of_four_nodes(there: int) -> None:
    """Where all four are there beside it, it is none."""
    train = v2_job(4)
    pods = [group_pod("launcher", 1, group=1), *(group_pod("node", 0) for _ in range(there))]
    for at, one in enumerate(pods[1:]):
        one["metadata"]["name"] = f"node-{at}"
        one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = str(at)
    found = ranks_by_pod(train, pods)
    assert (found, rank_count(train, found, pods=pods)) == ({f"node-{at}": (at,) for at in range(there)}, 4)


def test_a_report_says_that_the_number_of_ranks_is_unknown() -> None:
    train, jobset = train_job(None, launcher=1, node=1)
    report = diagnose(seen(group_pod("node", 0), group_pod("launcher", 1, group=1), job=train, children=(jobset,)), NOW, ())
    assert next(report_lines(report)).endswith("  unknown number of ranks")


@pytest.mark.parametrize("index", [0, 1])
def test_the_jobs_of_initializers_come_before_the_first_rank_and_are_none(index: int) -> None:
    """Of one node, and of the second of two with a Job each, whose first is gone."""
    train, jobset = train_job(index + 1, dataset_initializer=1, model_initializer=1, node=index + 1)
    pods = [group_pod("dataset-initializer", 0), group_pod("model-initializer", 1), group_pod("node", 2 + index, group=2)]
    assert ranks_by_pod(train, pods, jobset) == {"node-0": (index,)}
    assert list(pods_by_rank(train, pods)) == [index]


@pytest.mark.parametrize(
    "known",
    [
        pytest.param({"spec": {"initializer": {"dataset": {"storageUri": "hf://a/b"}}}}, id="by its spec"),
        pytest.param({"status": {"jobsStatus": [{"name": "dataset-initializer"}, {"name": "node"}]}}, id="by its status"),
    ],
)
def test_a_node_keeps_its_rank_when_the_pod_of_an_initializer_is_gone(known: Json) -> None:
    """PodGC deletes finished pods. A status also names an initializer that only the runtime asks for."""
    train, jobset = train_job(1, dataset_initializer=1, node=1)
    train = {**train, **known}
    pods = [group_pod("dataset-initializer", 0), group_pod("node", 1)]
    for there in (pods, pods[1:]):
        assert list(pods_by_rank(train, there)) == [0]
        assert ranks_by_pod(train, there, jobset) == {"node-0": (0,)}


def test_a_pod_that_is_missing_counts_with_all_of_its_ranks() -> None:
    parts = {"container": {"command": ["torchrun", "--nproc-per-node=4", "train.py"]}}
    assert diagnose(seen(pod(0, **runs(), **parts)), NOW).ranks == 12


def of_launcher(text: str, code: int = 1) -> Evidence:
    """An MPIJob whose launcher has ended with this."""
    mpi = v1("MPIJob", Launcher=1, Worker=1)
    mpi["status"]["conditions"] = [{"type": "Failed", "status": "True", "reason": "x", "message": "y"}]
    launcher = v1_pod("launcher", spec={"containers": [{"name": "pytorch"}]}, **ended(code))
    worker = v1_pod("worker", spec={"containers": [{"name": "pytorch"}]}, **runs())
    lines = msgspec.structs.replace(log(0, traceback(text)), pod="j-launcher-0")
    return failed(launcher, worker, logs=(lines,), job=mpi)


@pytest.mark.parametrize(
    ("text", "code", "id", "who"),
    [
        (CUDA, 1, "T03", "container pytorch of pod j-launcher-0 ran out of GPU memory"),
        (UNKNOWN, 1, "T04", "container pytorch of pod j-launcher-0 cannot resolve a host name"),
        (f"{DENIED}: '/data/x'", 1, "T08", "container pytorch of pod j-launcher-0 is denied access"),
        ("", 127, "K04", "container pytorch of pod j-launcher-0: a command"),
        ("", 135, "K06", "container pytorch of pod j-launcher-0 ended with SIGBUS"),
        (RESET, 1, "T90", "container pytorch of pod j-launcher-0 ended because a peer was lost"),
    ],
)
def test_a_launcher_that_fails_is_named_as_what_it_is(text: str, code: int, id: str, who: str) -> None:
    evidence = of_launcher(text, code)
    report = diagnose(evidence, evidence.at)
    assert (report.verdicts[0].id, report.verdicts[0].ranks) == (id, ())
    assert report.verdicts[0].cause.startswith(who)
    assert "no rank" not in "\n".join(report_lines(report))


def test_a_rank_leads_to_the_log_of_its_pod_as_the_command_does() -> None:
    """torchrun starts 8 in each: the page shows rank 99 by the number of its pod, too."""
    spec = {"containers": [{"name": "pytorch", "command": ["torchrun", "--nproc-per-node=8", "t.py"]}]}
    pods = [v1_pod("worker", at, spec=spec, **ended(1)) for at in range(13)]
    lines = Log(pod="j-worker-11", container="pytorch", text=log(0, f"[rank99]: {traceback('ValueError: no data')}").text)
    evidence = failed(*pods, logs=(lines,), job=v1("PyTorchJob", Master=1, Worker=13) | {"status": FAILED_STATUS})
    case = Case(evidence, evidence.at)
    verdict = diagnose(evidence, evidence.at).verdicts[0]
    assert 99 in verdict.ranks
    assert case.log_ranks[99] == 12
    assert verdict.remedy.endswith("--rank 12")
    assert (case.log_ranks[8], case.log_ranks.get(3)) == (1, None)


def test_the_command_for_a_log_names_the_pod_whose_log_it_is() -> None:
    """Of an MPIJob `logs --rank 0` is the launcher, and of torchrun a pod has several ranks."""
    mpi = v1("MPIJob", Launcher=1, Worker=2)
    mpi["status"]["conditions"] = [{"type": "Failed", "status": "True", "reason": "x", "message": "y"}]
    pods = [v1_pod("worker", at, spec={"containers": [{"name": "pytorch"}]}, **ended(1)) for at in (0, 1)]
    lines = Log(pod="j-worker-1", container="pytorch", text=log(0, traceback("ValueError: no data")).text)
    evidence = failed(pods[1], logs=(lines,), job=mpi)
    (verdict,) = diagnose(evidence, evidence.at).verdicts
    assert (verdict.ranks, verdict.remedy.partition("shunter logs ")[2]) == ((2, 3), "j -n n --rank 2")
