"""`shunter run train.py --restarts N`: all pods anew N times, by a runtime of the job's own, which goes with it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from e2e.running_cluster import Cluster, eventually
from fault_transport import FaultTransport, Killed
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.launch.code.delivery import ImageCode
from shunter.launch.deleting import delete_and_wait, delete_leftovers
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import find_runtime
from shunter.launch.submitting import resubmit, submit

pytestmark = pytest.mark.timeout(240)

JAX = "--runtime=jax-distributed"
"""Starts a program with python alone."""


def runtimes(cluster: Cluster, namespace: str) -> list[str]:
    return [found["metadata"]["name"] for found in cluster.get("trainingruntimes", "-n", namespace)["items"]]


def test_a_script_that_fails_is_restarted_so_often_and_then_fails(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\nraise SystemExit(f'no data on {os.environ[\"JOB_COMPLETION_INDEX\"]}')\n")
    run = ["run", str(tmp_path / "train.py"), "-n", namespace, JAX, "--nodes", "2"]
    done = cluster.shunter(*run, "--restarts", "2", timeout=200)
    assert done.returncode == 1, done.stderr
    assert "runtime jax-distributed with 2 restarts of all pods" in done.stderr
    failed = [line for line in done.stderr.splitlines() if f"TrainJob {namespace}/train failed: node-" in line]
    assert len(failed) == 1, done.stderr
    assert "exit code 1: no data on " in failed[0]
    report = done.stderr[done.stderr.index(failed[0]) :]
    assert "(no log" not in report, "the log of a pod that is there, not of one that a restart has replaced"
    named = re.findall(r"pod (train-node-0-\d)-\w+,", report)
    assert len(named) == len(set(named)), f"of each rank the last pod alone: {report}"
    status = cluster.get("jobset", "train", "-n", namespace)["status"]
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (2, 2)

    again = cluster.shunter("run", "--rerun", "train", "-n", namespace, timeout=200)
    assert again.returncode == 1, again.stderr
    assert cluster.get("jobset", "train-2", "-n", namespace)["status"]["restarts"] == 2
    assert runtimes(cluster, namespace) == ["train", "train-2"]
    for name in ("train", "train-2"):
        # As anybody deletes it: its runtime goes because the job owns it.
        cluster.kubectl("delete", "trainjob", name, "-n", namespace)
    eventually(lambda: not runtimes(cluster, namespace))


def test_what_a_dry_run_prints_can_be_applied(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    run = ["run", str(tmp_path / "train.py"), "-n", namespace, JAX, "--snapshot", "--restarts", "0"]
    printed = cluster.shunter(*run, "--dry-run")
    assert printed.returncode == 0, printed.stderr
    assert not runtimes(cluster, namespace)
    cluster.kubectl("apply", "-f", "-", stdin=printed.stdout)
    cluster.kubectl("wait", "trainjob/train", "-n", namespace, "--for=condition=Complete", "--timeout=100s")
    assert cluster.shunter("delete", "train", "-n", namespace).returncode == 0
    assert not runtimes(cluster, namespace), "nobody owned it, so the deletion took it along"


def test_a_runtime_of_somebody_else_is_left_alone(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')\n")
    theirs = cluster.get("clustertrainingruntime", "jax-distributed")
    metadata = {"name": "train", "namespace": namespace, "labels": {"shunter.dev/job": "train"}}
    cluster.apply({**theirs, "kind": "TrainingRuntime", "metadata": metadata})
    run = ["run", str(tmp_path / "train.py"), "-n", namespace, JAX, "--restarts", "1"]
    given = cluster.shunter(*run, "--name", "train")
    assert (given.returncode, f"TrainingRuntime {namespace}/train exists" in given.stderr) == (2, True), given.stderr
    chosen = cluster.shunter(*run)
    assert chosen.returncode == 0, chosen.stderr
    assert f"TrainJob {namespace}/train-2 (train is taken)" in chosen.stderr
    assert runtimes(cluster, namespace) == ["train", "train-2"]


def test_the_warning_of_what_ends_a_job_is_shown_before_run_returns(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('bad data')\nsys.exit(7)\n")
    done = cluster.shunter("run", str(tmp_path / "train.py"), "-n", namespace, JAX, "--restarts", "0")
    assert done.returncode != 0
    assert re.search(r"RankFailed: rank 0, pod \S+, container node: Error, exit code 7", done.stderr + done.stdout)


WRITES = 5
"""The job and its runtime in dry runs, the runtime, the job, and the runtime's owner."""


def options(name: str) -> LaunchOptions:
    return LaunchOptions(program=Program(path=f"{name}.py"), restarts=1)


async def test_as_many_writes_as_the_next_test_breaks_off(cluster: Cluster, namespace: str) -> None:
    async with connect(kubeconfig.load(cluster.kubeconfig)) as client:
        counting = FaultTransport(client.transport)
        runtime = await find_runtime(client, namespace, "jax-distributed")
        await submit(client.through(counting), options("train"), ImageCode(), runtime=runtime, namespace=namespace)
        assert counting.writes == WRITES


async def test_killed_after_any_write_the_next_run_or_a_deletion_leaves_nothing(cluster: Cluster, namespace: str) -> None:
    async def lead(writes: int, *, next_run: bool) -> None:
        async with connect(kubeconfig.load(cluster.kubeconfig)) as client:
            name = f"{'run' if next_run else 'delete'}-{writes}"
            runtime = await find_runtime(client, namespace, "jax-distributed")
            dying = FaultTransport(client.transport)
            dying.kill_after(writes)
            with pytest.raises(Killed):
                await submit(client.through(dying), options(name), ImageCode(), runtime=runtime, namespace=namespace)
            if next_run:
                await submit(client, options(name), ImageCode(), runtime=runtime, namespace=namespace)
            present = [
                job for job in (await client.list(TRAIN_JOBS, namespace)).items if job["metadata"]["name"].startswith(name)
            ]
            if next_run:
                owners = {}
                for found in (await client.list(TRAINING_RUNTIMES, namespace)).items:
                    if found["metadata"]["name"].startswith(name):
                        (owner,) = found["metadata"]["ownerReferences"]
                        owners[owner["name"]] = owner["uid"]
                assert owners == {job["metadata"]["name"]: job["metadata"]["uid"] for job in present}
            for job in present:
                await delete_and_wait(client, TRAIN_JOBS, {"kind": "TrainJob", **job}, now=True, notify=print)
            await delete_leftovers(client, namespace, name, notify=print)

    await asyncio.gather(*(lead(writes, next_run=next_run) for writes in range(1, WRITES + 1) for next_run in (True, False)))
    eventually(lambda: not runtimes(cluster, namespace))


async def test_a_job_does_not_train_with_the_runtime_of_another_run(cluster: Cluster, namespace: str) -> None:
    async with connect(kubeconfig.load(cluster.kubeconfig)) as client:
        runtime = await find_runtime(client, namespace, "jax-distributed")
        racing = FaultTransport(client.transport)

        async def replaced(*, anew: bool) -> None:
            found = await client.get(TRAINING_RUNTIMES, "train", namespace)
            await client.delete(TRAINING_RUNTIMES, "train", namespace)
            if anew:
                kept = {key: found["metadata"][key] for key in ("name", "namespace", "labels")}
                await client.create(TRAINING_RUNTIMES, {**found, "metadata": kept})

        async def gone() -> None:
            await replaced(anew=False)

        async def another() -> None:
            await replaced(anew=True)

        racing.before_write(5, gone)
        made = await submit(client.through(racing), options("train"), ImageCode(), runtime=runtime, namespace=namespace)
        (owner,) = (await client.get(TRAINING_RUNTIMES, "train", namespace))["metadata"]["ownerReferences"]
        assert owner["uid"] == made.job["metadata"]["uid"], "what somebody deleted is there again"
        await delete_and_wait(client, TRAIN_JOBS, {"kind": "TrainJob", **made.job}, now=True, notify=print)
        eventually(lambda: not runtimes(cluster, namespace))

        racing = FaultTransport(client.transport)
        racing.before_write(5, another)
        with pytest.raises(EnvironmentProblem, match="was replaced while the job was created"):
            await submit(client.through(racing), options("train"), ImageCode(), runtime=runtime, namespace=namespace)
        left: list[Json] = (await client.list(TRAIN_JOBS, namespace)).items
        assert all(job["metadata"].get("deletionTimestamp") for job in left)


async def test_a_job_whose_runtime_was_deleted_cannot_run_again(cluster: Cluster, namespace: str) -> None:
    async with connect(kubeconfig.load(cluster.kubeconfig)) as client:
        runtime = await find_runtime(client, namespace, "jax-distributed")
        made = await submit(client, options("train"), ImageCode(), runtime=runtime, namespace=namespace)
        await client.delete(TRAINING_RUNTIMES, "train", namespace)
        with pytest.raises(InputError, match=r"is rejected: .*must be created before the TrainJob is created"):
            await resubmit(client, made.job)
