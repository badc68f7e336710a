"""From kill -9 of a rank to the next all_reduce of all ranks, again and again: on the runtime shunter-torch, by torchrun's own
restart, and beside both what it takes to import torch.

On shunter-torch all pods are made anew. A rank is started as `python` and, as most are, by torchrun, which imports torch itself
before it starts the rank that does: twice the import then.
"""

from __future__ import annotations

import copy
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from embedded import Cluster, cluster, true_conditions, until
from figures import Figure, spread
from shunter.operator.trainer.runtimes import shipped

RANK = Path(__file__).parent.parent / "recovering_rank.py"
RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes"
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
PATIENCE_SECONDS = 120.0
BY_PYTHON = ["python", "-c", RANK.read_text()]
BY_TORCHRUN = ["torchrun", "--no-python", *BY_PYTHON]


class Mark(NamedTuple):
    """The first all_reduce of one start of a rank."""

    rank: int
    step: int
    """That it went on from."""
    at: float


class Recovery(NamedTuple):
    seconds: float
    imported: float
    """The seconds that importing torch took just before, by as many processes at a time as there are ranks."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    ranks, kills, others = settings["ranks"], settings["kills"], settings["kills_of_others"]
    with cluster() as started:
        by_python = by_jobs(started, "by-python", BY_PYTHON, ranks, kills)
        by_torchrun = by_jobs(started, "by-torchrun", BY_TORCHRUN, ranks, others)
    alone = by_torchrun_alone(ranks, others)
    median = statistics.median
    beyond = [recovery.seconds - recovery.imported for recovery in by_python]
    imports = [recovery.imported for recovery in (*by_python, *by_torchrun, *alone)]
    ratios = [recovery.seconds / recovery.imported for recovery in by_python]
    return [
        Figure("recovery beyond one import of torch", median(beyond), "s", "ranks started by python"),
        Figure(
            "last three / first three",
            median(ratios[-3:]) / median(ratios[:3]),
            "x",
            f"as multiples of an import, {kills} in a row",
        ),
        Figure("by torchrun, beyond two imports", median(one.seconds - 2 * one.imported for one in by_torchrun), "s"),
        *(
            Figure(name, median(times), "s", f"{spread(times)}, {len(times)} of {wanted}")
            for name, times, wanted in (
                ("shunter-torch, ranks by python", [one.seconds for one in by_python], kills),
                ("shunter-torch, ranks by torchrun", [one.seconds for one in by_torchrun], others),
                ("torchrun's own restart", [one.seconds for one in alone], others),
            )
            if times
        ),
        Figure("import of torch", median(imports), "s", spread(imports)),
    ]


def import_seconds(ranks: int) -> float:
    """Until the last of that many processes at a time has imported what a rank imports."""
    started = time.time()
    command = [sys.executable, "-c", "import torch, torch.distributed"]
    for process in [subprocess.Popen(command) for _ in range(ranks)]:
        if process.wait():
            raise RuntimeError("torch cannot be imported")
    return time.time() - started


def by_jobs(started: Cluster, name: str, command: list[str], ranks: int, kills: int) -> list[Recovery]:
    """The recoveries of one job."""
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder:
        shared = Path(folder)
        shared.chmod(0o777)
        started.ask("POST", RUNTIMES, runtime(name, shared, kills))
        trainer = {"numNodes": ranks, "image": "any:1", "command": [*command, str(shared)], "numProcPerNode": 1}
        job = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": name},
            "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": name}, "trainer": trainer},
        }
        started.ask("POST", JOBS, job)
        times = list(recoveries(shared, ranks, kills))
        (shared / "end").touch()
        path = f"{JOBS}/{name}"
        until(lambda: "Complete" in true_conditions(started.ask("GET", path)), PATIENCE_SECONDS)
        return times


def runtime(name: str, shared: Path, restarts: int) -> Any:
    """shunter-torch with that many restarts, and the directory at its own path."""
    (found,) = (copy.deepcopy(one) for one in shipped() if one["metadata"]["name"] == "shunter-torch")
    found["kind"] = "TrainingRuntime"
    found["metadata"]["name"] = name
    jobset = found["spec"]["template"]["spec"]
    jobset["failurePolicy"]["maxRestarts"] = restarts
    pod = jobset["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["volumes"].append({"name": "shared", "hostPath": {"path": str(shared)}})
    pod["containers"][0]["volumeMounts"].append({"name": "shared", "mountPath": str(shared)})
    return found


def by_torchrun_alone(ranks: int, kills: int) -> list[Recovery]:
    """torchrun without a cluster. Some of its restarts fail, as a rank meets the address of one that was ended: it may have
    more of them, and what they take counts. Where it does not come back at all, those before."""
    times: list[Recovery] = []
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder:
        shared = Path(folder)
        options = ["--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={10 * kills}"]
        command = [sys.executable, "-m", "torch.distributed.run", *options, str(RANK), folder]
        with ended(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
            try:
                times.extend(recoveries(shared, ranks, kills))
            except TimeoutError:
                return times
            (shared / "end").touch()
            if process.wait(PATIENCE_SECONDS):
                raise RuntimeError(f"torchrun ended with exit code {process.returncode}")
        return times


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def recoveries(shared: Path, ranks: int, kills: int) -> Iterator[Recovery]:
    """Kills the last rank again and again, each time when all have stepped on. Raises RuntimeError when one does not go on from
    where it was, and TimeoutError when one does not go on."""
    marks_of(shared, ranks)
    for number in range(1, kills + 1):
        imported = import_seconds(ranks)
        reached = stepped_on(shared)
        killed = time.time()
        os.kill(process_of(shared, ranks - 1), signal.SIGKILL)
        again = marks_of(shared, ranks * (number + 1))[ranks * number :]
        if any(mark.step < reached for mark in again) or {mark.rank for mark in again} != set(range(ranks)):
            raise RuntimeError(f"after kill {number} at step {reached} there came {again}")
        yield Recovery(max(mark.at for mark in again) - killed, imported)


def stepped_on(shared: Path) -> int:
    """A step that was saved after the last start."""
    last = max(mark.step for mark in marks_of(shared, 1))
    file = shared / "step"
    until(lambda: file.exists() and int(file.read_text()) > last + 2, PATIENCE_SECONDS)
    return int(file.read_text())


def marks_of(shared: Path, count: int) -> list[Mark]:
    """All marks, once there are that many."""

    def read() -> list[Mark]:
        lines = (shared / "marks").read_text().splitlines()
        return [Mark(int(rank), int(step), float(at)) for rank, step, at in map(str.split, lines)]

    until(lambda: len(read()) >= count, PATIENCE_SECONDS)
    return read()


def process_of(shared: Path, rank: int) -> int:
    """The pid of the process that is this rank, as this machine numbers it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = entry.joinpath("cmdline").read_bytes().split(b"\0")
            environment = dict(part.partition(b"=")[::2] for part in entry.joinpath("environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        # torchrun's own command line ends in the same words.
        is_launcher = any(word.endswith((b"/torchrun", b"torch.distributed.run")) for word in words)
        is_rank = os.fsencode(shared) in words and not is_launcher
        if is_rank and environment.get(b"RANK", environment.get(b"PET_NODE_RANK")) == str(rank).encode():
            return int(entry.name)
    raise RuntimeError(f"no process of rank {rank} is there")
