"""What a container's processes do, by what sampling.sh and py-spy write, and by torch's flight recorder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from datetime import timedelta
from pathlib import Path

import pytest

from doctor.evidences import log, pod, runs, seen
from job_evidence import NOW, v1_job
from shunter.doctor import recorder, stacks
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Collective, Evidence, Frame, Process, Recording, Sample
from shunter.doctor.waiting import doing

PY_SPY = Path(sys.executable).parent / "py-spy"
WORK = textwrap.dedent("""
    import mmap, os, time

    if "DRIVER" in os.environ:
        driver = mmap.mmap(os.open(os.environ["DRIVER"], os.O_RDWR), 0)
        open("loaded", "w").close()

    def read_forever():
        time.sleep(60)

    read_forever()
""")


def sampled(program: str, environment: dict[str, str], tmp_path: Path) -> Process:
    """This machine's process that runs WORK, as the script sees it once it has a stack and has loaded DRIVER, if any."""
    path = tmp_path / "work.py"
    path.write_text(WORK)
    process = subprocess.Popen([sys.executable, str(path)], env=environment, cwd=tmp_path)
    try:
        deadline = time.monotonic() + 30
        while "DRIVER" in environment and not (tmp_path / "loaded").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        while True:
            done = subprocess.run(stacks.command(program), capture_output=True, text=True, timeout=60, check=False)
            found = [one for one in stacks.container_sample("p", "c", done.stdout).processes if one.pid == process.pid]
            sleeps = [one for one in found if one.state == "S" and (one.frames or not program)]
            if sleeps or time.monotonic() > deadline:
                return found[0]
    finally:
        process.kill()
        process.wait()


@pytest.mark.integration
@pytest.mark.parametrize("stopped_before", [False, True])
def test_a_process_that_is_looked_at_stays_as_it_was(stopped_before: bool, tmp_path: Path) -> None:
    """py-spy stops a process to read it. One that lets go too early leaves it stopped, as this one does."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    program = tmp_path / "stops"
    program.write_text(f"#!/bin/sh\n[ $3 = {process.pid} ] && kill -STOP $3\necho '[]'\n")
    program.chmod(0o755)
    try:
        if stopped_before:
            process.send_signal(signal.SIGSTOP)
        subprocess.run(stacks.command(str(program)), capture_output=True, timeout=60, check=True)
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0]
        assert (state == "T") is stopped_before
    finally:
        process.kill()
        process.communicate()


@pytest.mark.integration
def test_a_warm_start_in_place_of_a_shell_is_no_process_of_the_program(tmp_path: Path) -> None:
    """Such a first process is Python by its program, and the shell by its command line (docs/warm-start.md)."""
    words = ["-c", "print(flush=True); input()"]
    processes = [
        subprocess.Popen([name, *words], executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("sh", "python")
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        done = subprocess.run(stacks.command(""), capture_output=True, text=True, timeout=60, check=False)
        seen_pids = {one.pid for one in stacks.container_sample("p", "c", done.stdout).processes}
        assert [process.pid in seen_pids for process in processes] == [False, True]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.integration
def test_the_script_finds_rank_command_and_stack_of_a_process(tmp_path: Path) -> None:
    if not PY_SPY.exists():
        pytest.skip("py-spy is not installed: scripts/setup brings it")
    found = sampled(str(PY_SPY), {"RANK": "3", "PATH": "/usr/bin:/bin"}, tmp_path)
    assert (found.rank, "work.py" in found.command, found.state) == (3, True, "S")
    assert found.frames[0].function == "read_forever"
    assert found.frames[0].is_own
    assert doing(found.frames) == "own"


@pytest.mark.integration
def test_without_py_spy_times_and_states_are_there_and_no_stack(tmp_path: Path) -> None:
    found = sampled("", {"RANK": "1", "PATH": "/usr/bin:/bin"}, tmp_path)
    assert (found.rank, found.frames, found.state in "RSD") == (1, (), True)


@pytest.mark.integration
@pytest.mark.parametrize(("library", "uses_cuda"), [("libcuda.so.1", True), ("libcudart.so.13", False), ("", False)])
def test_a_process_uses_cuda_when_it_has_loaded_the_driver_s_library(library: str, uses_cuda: bool, tmp_path: Path) -> None:
    path = tmp_path / library
    if library:
        path.write_bytes(b"driver")
    environment = {"RANK": "1", "PATH": "/usr/bin:/bin", **({"DRIVER": str(path)} if library else {})}
    assert sampled("", environment, tmp_path).uses_cuda is uses_cuda


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


def calls(*names: str, first: int = 1) -> tuple[Collective, ...]:
    return tuple(Collective(number=number, name=name, sizes="[4]") for number, name in enumerate(names, first))


RECORDERS = {
    "all alike": ([calls("all_reduce", "all_reduce")] * 3, ""),
    "one calls another": (
        [calls("all_reduce", "all_reduce"), calls("all_reduce", "broadcast"), calls("all_reduce", "all_reduce")],
        "rank 1 calls broadcast where ranks 0 and 2 call all_reduce (call number 2 of default_pg)",
    ),
    "one is behind": (
        [calls("all_reduce", "all_reduce"), calls("all_reduce"), calls("all_reduce", "all_reduce")],
        "rank 1 has not called all_reduce (call number 2 of default_pg), in which ranks 0 and 2 wait",
    ),
    "rings that overflowed at different places": (
        [
            calls("all_reduce", "all_reduce", first=7),
            calls("broadcast", "all_reduce", "all_reduce", first=6),
            calls("all_reduce", "all_reduce", first=7),
        ],
        "",
    ),
    "a rank without a recorder": ([calls("all_reduce", "all_reduce"), calls("all_reduce")], ""),
}


@pytest.mark.parametrize(("recordings", "text"), RECORDERS.values(), ids=list(RECORDERS))
def test_recorders_are_compared_as_far_as_all_of_them_go(recordings: list[tuple[Collective, ...]], text: str) -> None:
    given = tuple(Recording(rank=rank, group="default_pg", entries=entries) for rank, entries in enumerate(recordings))
    evidence = seen(*(pod(rank, **runs()) for rank in range(3)), recordings=given)
    assert [verdict.cause for verdict in diagnose(evidence, NOW).verdicts if verdict.id == "H04"] == ([text] if text else [])


def test_a_dump_s_group_is_known_by_its_entries_and_gloo_s_state_says_nothing() -> None:
    entry = {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 4, "is_p2p": False, "state": "scheduled"}
    dump = {
        "entries": [{**entry, "profiling_name": "gloo:broadcast", "input_sizes": [[4]], "retired": True}],
        "pg_status": {"0": {"last_enqueued_collective": 4, "last_completed_collective": 3}},
    }
    source = {"source": "fr_trace_json"}
    text = (
        json.dumps({"rank": 1, **source, "dump": dump}) + "\n" + json.dumps({"rank": 2, **source, "error": "gone"}) + "\nnoise\n"
    )
    (found,) = recorder.recordings([text])
    assert (found.rank, found.group, found.last_enqueued, found.last_completed) == (1, "default_pg", 4, 3)
    assert found.entries == (Collective(number=4, name="broadcast", sizes="[[4]]", is_retired=True),)


def test_a_rank_of_several_in_one_pod_is_known_by_its_own_environment() -> None:
    command = {"command": ["torchrun", "--nproc-per-node", "2", "train.py"]}
    case = Case(seen(*(pod(rank, container=command, **runs()) for rank in range(3))), NOW)
    assert case.ranks == {"j-master-0": (0, 1), "j-worker-0": (2, 3), "j-worker-1": (4, 5)}


def test_workers_of_an_mpijob_hold_the_ranks_and_its_launcher_none() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u-j"},
        "spec": {"slotsPerWorker": 2, "mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}},
    }
    pods = []
    for role, index in (("launcher", 0), ("worker", 0), ("worker", 1)):
        one = pod(1, **runs())
        labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)}
        one["metadata"] |= {"name": f"j-{role}-{index}", "labels": labels}
        one["spec"]["containers"][0]["name"] = "mpi"
        pods.append(one)
    assert Case(seen(*pods, job=job), NOW).ranks == {"j-worker-0": (0, 1), "j-worker-1": (2, 3)}


def test_processes_that_a_launcher_waits_for_are_the_ranks() -> None:
    from shunter.doctor.evidence import Sample
    from shunter.doctor.waiting import trainers

    agent = Process(pod="p", container="c", pid=1, frames=(Frame(function="run", file="torch/distributed/run.py"),))
    ranks = [Process(pod="p", container="c", pid=pid, parent=1, rank=pid - 7) for pid in (7, 8)]
    loader = Process(pod="p", container="c", pid=9, parent=7)
    assert trainers(Sample(at=NOW, processes=(agent, *ranks, loader))) == ranks


def hanging(ranks: int) -> Evidence:
    """A job in which all ranks but one wait; each has four DataLoader workers."""
    wait = (
        Frame(function="all_reduce", file="torch/distributed/distributed_c10d.py"),
        Frame(function="main", file="train.py", is_own=True),
    )
    own = (Frame(function="load", file="train.py", line=9, is_own=True),)

    def sample(ago: float) -> Sample:
        found = []
        for rank in range(ranks):
            parts = {"pod": pod(rank)["metadata"]["name"], "container": "pytorch", "rank": rank, "state": "S"}
            found.append(Process(pid=1, frames=own if rank == 1 else wait, **parts))
            found += [Process(pid=number, parent=1, frames=own, **parts) for number in range(2, 6)]
        return Sample(at=NOW - timedelta(seconds=ago), processes=tuple(found))

    running = [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
    logs = tuple(log(rank, "step 1 loss 0.5", "step 2 loss 0.4", at=60, every=1.0) for rank in range(ranks))
    job = v1_job(ranks - 1, conditions=running)
    return seen(*(pod(rank, **runs()) for rank in range(ranks)), job=job, logs=logs, samples=(sample(5), sample(0)))


def calls_made(evidence: Evidence) -> int:
    """Calls of functions that a diagnosis takes: unlike its time, the same on each machine."""
    made = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        report = diagnose(evidence, NOW)
    finally:
        sys.setprofile(before)
    assert [verdict.id for verdict in report.verdicts] == ["H01"]
    return made


def test_a_diagnosis_takes_as_much_more_work_as_there_are_more_ranks() -> None:
    """With eight DataLoader workers for each of 512 ranks it took nine seconds."""
    assert calls_made(hanging(64)) < 2.5 * calls_made(hanging(32))
