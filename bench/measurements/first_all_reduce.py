"""From submitting a job to its first all_reduce, against the same ranks started as bare processes and by torchrun.

All three in the same run, one after the other in every round, so that whatever else the machine does hits all of them. Every rank
is a fresh process; what it imports is in the page cache for all three.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from embedded import Cluster, cluster, job, true_conditions
from figures import Figure, spread
from shunter.cluster.free_ports import free_port

RANK = Path(__file__).parent.parent / "rank.py"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"
_MARK = re.compile(r"first all_reduce at ([\d.]+)")


def measure(settings: dict[str, Any]) -> list[Figure]:
    ranks = settings["ranks"]
    bare: list[float] = []
    torchrun: list[float] = []
    embedded: list[float] = []
    with cluster() as started:
        for number in range(-1, settings["repeats"]):
            round_ = [bare_processes(ranks), by_torchrun(ranks), by_job(started, f"round-{number + 1}", ranks)]
            if number >= 0:
                for times, seconds in zip((bare, torchrun, embedded), round_, strict=True):
                    times.append(seconds)
    base = statistics.median(bare)
    return [
        Figure("embedded / bare processes", statistics.median(embedded) / base, "x"),
        Figure("torchrun / bare processes", statistics.median(torchrun) / base, "x"),
        *(
            Figure(name, statistics.median(times), "s", spread(times))
            for name, times in (("bare processes", bare), ("torchrun", torchrun), ("embedded, from submit", embedded))
        ),
    ]


def bare_processes(ranks: int) -> float:
    port = free_port()
    started = time.time()
    processes = [
        subprocess.Popen(
            [sys.executable, str(RANK)],
            env=os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks), "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(ranks)
    ]
    return last_mark("".join(process.communicate()[0] for process in processes), ranks) - started


def by_torchrun(ranks: int) -> float:
    started = time.time()
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={ranks}"]
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            [*command, f"--master-port={free_port()}", str(RANK)], check=True, stdout=output, stderr=subprocess.DEVNULL
        )
        output.seek(0)
        return last_mark(output.read(), ranks) - started


def by_job(started: Cluster, name: str, ranks: int) -> float:
    reducing = job(name, RANK.read_text())
    reducing["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = ranks - 1
    submitted = time.time()
    started.ask("POST", JOBS, reducing)
    if outcome(started, name) != "Succeeded":
        raise RuntimeError(f"job {name} failed: see `shunter describe {name} --state-dir {started.state_dir}`")
    pods = [f"{name}-master-0", *(f"{name}-worker-{rank}" for rank in range(ranks - 1))]
    return last_mark("".join(started.ask("GET", f"{PODS}/{pod}/log") for pod in pods), ranks) - submitted


def outcome(started: Cluster, name: str) -> str:
    """Waits for the end of the job: `Succeeded` or `Failed`. Asking again and again would take time from the ranks."""
    for changed in started.changes(f"{JOBS}?fieldSelector=metadata.name%3D{name}"):
        if ended := true_conditions(changed) & {"Succeeded", "Failed"}:
            return ended.pop()
    raise RuntimeError(f"job {name} was watched to no end")


def last_mark(output: str, ranks: int) -> float:
    """When the last rank was through, in seconds since the epoch."""
    marks = [float(mark) for mark in _MARK.findall(output)]
    if len(marks) != ranks:
        raise RuntimeError(f"{len(marks)} of {ranks} ranks reported: {output!r}")
    return max(marks)
