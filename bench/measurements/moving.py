"""Running v1 jobs moved by a plan, as `shunter migrate apply` moves them: one job after the other, and several at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from embedded import Cluster, cluster, job, true_conditions, until
from figures import Figure
from load import create
from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client, connect
from shunter.kube.kubeconfig import load
from shunter.migrate.moving import applying, gathering, run_plan
from shunter.migrate.moving.applying import JOBS_AT_ONCE, Outcome
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.planning import PlanOptions, planned
from shunter.migrate.options import Options

JOBS = "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs"


class Quiet:
    """Shows nothing."""

    def begin(self, total: int) -> None:
        return

    def done(self, outcome: Outcome) -> None:
        return


def measure(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    with cluster("--simulate") as started, tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for jobs_at_once in (1, JOBS_AT_ONCE):
            namespace = f"moving-{jobs_at_once}"
            run_jobs(started, namespace, jobs, settings["clients"])
            seconds[jobs_at_once] = asyncio.run(moved(started, namespace, Path(folder), jobs_at_once))
    alone, at_once = seconds.values()
    return [
        Figure("moving running jobs", at_once, "s", f"{jobs} jobs of 2 pods, {JOBS_AT_ONCE} at once"),
        Figure("moving running jobs, one by one", alone, "s", "the same jobs in another namespace"),
        Figure("moving at once against one by one", alone / at_once, "times"),
    ]


def run_jobs(started: Cluster, namespace: str, jobs: int, clients: int) -> None:
    """Returns when all of them run."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    started.ask("POST", "/api/v1/namespaces", body)
    path = JOBS.format(namespace)
    create(started, path, job(), "job", jobs, clients=clients)
    until(lambda: all("Running" in true_conditions(one) for one in started.ask("GET", path)["items"]), seconds=60)


async def moved(started: Cluster, namespace: str, folder: Path, jobs_at_once: int) -> float:
    """Seconds from the first write until all jobs run as TrainJobs. RuntimeError when one of them does not."""
    async with connect(load(Path(started.state_dir) / "kubeconfig")) as client:
        found = await gathering.read(client, [namespace])
        seen, _ = await gathering.cluster(client, started.server, [namespace])
        plan_options = PlanOptions(namespaces=(namespace,), running="move", freeze="none", journal_namespace=namespace)
        plan = planned(found.batch(Options()), seen, plan_options)
        with Journal(folder, plan.id, client, namespace) as journal:
            await journal.load()
            steps = run_plan.prepared(plan, found, journal).steps
            begun = time.perf_counter()
            outcomes = await applying.apply(client, steps, journal, Quiet(), jobs_at_once=jobs_at_once)
            seconds = time.perf_counter() - begun
        if left := [outcome for outcome in outcomes if not outcome.is_complete]:
            raise RuntimeError(f"{left[0].step.title}: {left[0].why}")
        await require_moved(client, namespace, len(found.jobs))
    return seconds


async def require_moved(client: Client, namespace: str, jobs: int) -> None:
    train_jobs = (await client.list(TRAIN_JOBS, namespace)).items
    started = sum(not job["spec"].get("suspend") for job in train_jobs)
    if started != jobs:
        raise RuntimeError(f"{started} of {jobs} TrainJobs were started")
