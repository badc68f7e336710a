"""What each rank does, which processes are ranks, and for whom the others wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from doctor.evidences import group_pod, log, runs, seen, train_job, v1
from job_evidence import NOW, v1_pod
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Frame, Log, Process, Sample
from shunter.doctor.waiting import doing, group, ranked, trainers

DOING = {
    "starting": [("slow_module.py", "<module>"), ("<frozen importlib._bootstrap>", "_find_and_load")],
    "rendezvous": [
        ("torch/distributed/rendezvous.py", "_create_c10d_store"),
        ("torch/distributed/distributed_c10d.py", "init_process_group"),
    ],
    "collective": [("torch/distributed/distributed_c10d.py", "all_reduce"), ("train.py", "main")],
    "data": [
        ("multiprocessing/connection.py", "wait"),
        ("torch/utils/data/dataloader.py", "_try_get_data"),
        ("torch/utils/data/dataloader.py", "__next__"),
    ],
    "own": [("train.py", "load"), ("train.py", "main")],
}
BACKWARD = [("torch/autograd/graph.py", "_engine_run_backward"), ("torch/_tensor.py", "backward"), ("train.py", "main")]


@pytest.mark.parametrize(("what", "calls"), [*DOING.items(), ("collective", BACKWARD)], ids=[*DOING, "backward"])
def test_a_stack_says_what_a_rank_does(what: str, calls: list[tuple[str, str]]) -> None:
    assert doing(tuple(Frame(function=function, file=file) for file, function in calls)) == what


def test_work_that_a_training_library_started_from_outside_is_no_wait() -> None:
    calls = [
        ("train.py", "load"),
        ("train.py", "step"),
        ("train.py", "epoch"),
        ("train.py", "main"),
        ("torch/distributed/run.py", "x"),
    ]
    assert doing(tuple(Frame(function=function, file=file) for file, function in calls)) == "own"


def test_processes_that_a_launcher_waits_for_are_the_ranks() -> None:
    agent = Process(pod="p", container="c", pid=1, frames=(Frame(function="run", file="torch/distributed/run.py"),))
    ranks = [Process(pod="p", container="c", pid=pid, parent=1, rank=pid - 7) for pid in (7, 8)]
    loader = Process(pod="p", container="c", pid=9, parent=7)
    assert trainers(Sample(at=NOW, processes=(agent, *ranks, loader))) == ranks


CALL = (Frame(function="quick_execute", file="tensorflow/python/eager/execute.py", line=9),)
SLEEPS = (Frame(function="wait_for_checkpoint", file="eval.py", line=7, is_own=True),)


def process(pod: str, frames: tuple[Frame, ...], **more: Any) -> Process:
    return Process(pod=pod, container="tensorflow", pid=1, frames=frames, state="S", **more)


def sampled(job: Json, pods: list[Json], *processes: Process) -> Evidence:
    """Of a job that runs, of which each process does the same in two samples."""
    samples = tuple(Sample(at=NOW - timedelta(seconds=before), processes=processes) for before in (5, 0))
    logs = tuple(Log(pod=one["metadata"]["name"], container="tensorflow", text=log(0, "step 1 loss 1.0").text) for one in pods)
    job["status"]["conditions"] = [{"type": "Running", "status": "True", "reason": "x", "message": "y"}]
    return seen(*pods, job=job, samples=samples, logs=logs)


def task(role: str, index: int = 0) -> Json:
    return v1_pod(role, index, spec={"containers": [{"name": "tensorflow"}]}, **runs())


@pytest.mark.parametrize("role", ["PS", "Evaluator"])
def test_a_task_that_takes_part_in_no_collective_is_not_what_others_wait_for(role: str) -> None:
    """A parameter server rests in its own call, and an evaluator sleeps until there is a checkpoint."""
    tf = v1("TFJob", Chief=1, Worker=1, **{role: 1})
    pods = [task("chief"), task("worker"), task(role.lower())]
    evidence = sampled(tf, pods, process("j-chief-0", CALL), process("j-worker-0", CALL), process(f"j-{role.lower()}-0", SLEEPS))
    report = diagnose(evidence, NOW)
    assert report.ranks == 2
    assert [(one.id, one.confidence, one.ranks) for one in report.verdicts] == [("H03", "possible", (0, 1))]


def test_of_mpi_the_process_says_which_rank_it_is() -> None:
    """mpirun decides where each rank runs."""
    mpi = v1("MPIJob", Worker=2)
    mpi["spec"]["slotsPerWorker"] = 1
    pods = [task("worker", 0), task("worker", 1)]
    evidence = sampled(
        mpi, pods, process("j-worker-0", CALL, rank=1, uses_mpi=True), process("j-worker-1", SLEEPS, rank=0, uses_mpi=True)
    )
    assert [(rank, one.pod) for rank, one in ranked(Case(evidence, NOW))] == [(1, "j-worker-0"), (0, "j-worker-1")]


def test_ranks_of_which_no_pod_is_known_are_not_taken_for_all() -> None:
    """One that is not seen may be what they wait for."""
    train, jobset = train_job(None, launcher=1, node=1)
    pods = (group_pod("launcher", 0), group_pod("node", 1, group=1))
    samples = tuple(
        Sample(at=NOW - timedelta(seconds=before), processes=(process("node-0", CALL, rank=1, uses_mpi=True),))
        for before in (5, 0)
    )
    found = group(Case(seen(*pods, job=train, children=(jobset,), samples=samples), NOW))
    assert found is not None
    assert ([one.rank for one in found.ranks], found.is_whole) == ([1], False)
