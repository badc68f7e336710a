"""`shunter jobs` for a cluster full of jobs that run: what WHY and UP/WANTED cost beside the list without them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from embedded import SHUNTER, Cluster, cluster, job
from figures import Figure
from load import create
from measurements.jobs import JOBS, Running

WITHOUT_WHY = """
import asyncio
import msgspec
from shunter.cli.output.console import Output, print_as
from shunter.cli.target import connect
from shunter.jobs.lookup import all_jobs
from shunter.jobs.jobsets import jobsets_of_all
from shunter.jobs.logs.progress import progress_in_logs
from shunter.operator.overview import overview

async def listed():
    async with connect(None, "").client as client:
        found = [job for _, job in await all_jobs(client, "")]
        await asyncio.gather(jobsets_of_all(client, found, ""), progress_in_logs(client, found))
        return [msgspec.to_builtins(overview(job)) for job in found]

print_as(asyncio.run(listed()), Output.json)
"""
"""The command's work but for what keeps jobs from training: no pods, events or Workloads are read."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    with cluster("--simulate") as started:
        running = Running(started, jobs)
        create(started, JOBS, job(), "job", jobs, clients=settings["clients"])
        running.wait()
        whole, without = [], []
        for _ in range(settings["rounds"]):
            without.append(seconds(started, jobs, [sys.executable, "-c", WITHOUT_WHY]))
            whole.append(seconds(started, jobs, [SHUNTER, "jobs", "-o", "json"]))
    ratio = statistics.median(whole) / statistics.median(without)
    return [
        Figure("list with WHY / without", ratio, "times", f"medians of {settings['rounds']} rounds, one after the other"),
        Figure("list of all jobs", statistics.median(whole), "s", f"{jobs} jobs of 2 pods, the command's start included"),
    ]


def seconds(started: Cluster, jobs: int, command: list[str]) -> float:
    """How long the command took to list that many jobs."""
    environment = {**os.environ, "KUBECONFIG": str(Path(started.state_dir) / "kubeconfig")}
    begun = time.perf_counter()
    answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    took = time.perf_counter() - begun
    if len(listed := json.loads(answer)) != jobs:
        raise RuntimeError(f"{len(listed)} of {jobs} jobs are listed")
    return took
