"""The inventory of a cluster full of v1 jobs, taken by the command that people run, with every job converted and classed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import usage
from embedded import SHUNTER, Cluster, cluster, job
from figures import Figure
from load import create

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"


def measure(settings: dict[str, Any]) -> list[Figure]:
    """Jobs are Kueue's on another cluster (managedBy), so that the operator leaves them alone."""
    jobs = settings["jobs"]
    with cluster("--simulate") as started:
        left_alone = job()
        left_alone["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue", "ttlSecondsAfterFinished": 600}
        create(started, JOBS, left_alone, "job", jobs, clients=settings["clients"])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, memory, counted = taken(started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if counted != jobs:
        raise RuntimeError(f"{counted} of {jobs} jobs in the inventory")
    return [
        Figure("inventory of a cluster", seconds, "s", f"{jobs} live jobs, the command's start included"),
        Figure("processor time of the inventory", _processor(after) - _processor(before), "s", "of all its processes"),
        Figure("peak memory, inventory", memory, "MiB", "of all its processes, pages that they share counted in each"),
    ]


def taken(started: Cluster) -> tuple[float, float, int]:
    """Seconds and MiB that the command and its processes took, and the jobs that it counted."""
    command = [SHUNTER, "migrate", "inventory", "--cluster", "-A", "-o", "json"]
    environment = {**os.environ, "KUBECONFIG": str(Path(started.state_dir) / "kubeconfig")}
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    watch = Watch(process.pid)
    watch.start()
    answer, _ = process.communicate()
    seconds = time.perf_counter() - begun
    watch.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}")
    return seconds, sum(watch.peaks.values()), json.loads(answer)["jobs"]


def _processor(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


class Watch(threading.Thread):
    """The most memory that each process of a session had, in MiB, until its leader is gone."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session = session
        self.peaks: dict[int, float] = {}

    def run(self) -> None:
        while pids := [int(path.name) for path in Path("/proc").glob("[0-9]*") if self._is_of_session(int(path.name))]:
            for pid in pids:
                with suppress(OSError, ValueError):
                    self.peaks[pid] = usage.peak_resident(pid)
            time.sleep(0.05)

    def _is_of_session(self, pid: int) -> bool:
        try:
            return os.getsid(pid) == self._session
        except ProcessLookupError:
            return False
