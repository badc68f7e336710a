"""The operator is killed after any write. Whoever takes over ends where an undisturbed operator ends, by the same objects.

And what is set and taken back at once, before any write, leaves a job as if it had not been, but for its pods, which may be new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import pytest

from faults import invariants
from faults.conftest import NewStage, Reference
from faults.disturbance import QUIET, Disturb, disturbed, swept
from faults.history import History, true_conditions
from faults.lifecycles import LIVES
from faults.operators import Operator, kept_running
from faults.scenarios import Scenario, Stage, deleted_pods_fail, mpi_job, pytorch_job
from player.shape import Json
from shunter.api.resources import CORE_EVENTS, PODS, Resource
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(600)

AT_ONCE = 16
"""Lives that are led at the same time, each in its own namespace."""


def killed_after(writes: int) -> Disturb:
    return lambda operator: operator.faults.kill_after(writes)


def let_live(_: Operator) -> None:
    """The last operator is not killed."""


@pytest.mark.parametrize("scenario", LIVES, ids=lambda scenario: scenario.name)
async def test_killed_after_any_write_it_ends_as_if_it_had_not_been(
    server: Connection, history: History, new_stage: NewStage, reference: Reference, scenario: Scenario
) -> None:
    wanted = await reference(scenario)
    assert wanted.writes > 2
    gate = asyncio.Semaphore(AT_ONCE)

    async def lead(kills: Sequence[int], about: str) -> None:
        async with gate:
            disturb = [*map(killed_after, kills), let_live]
            stage = await new_stage()
            shift = await disturbed(server, history, stage, scenario, wanted, disturb, about=about)
            invariants.writes_are_bounded(shift.requests, each=5 * len(scenario.steps) + len(kills))
            invariants.every_failed_pod_is_recorded(history, stage.namespace)

    async with asyncio.TaskGroup() as group:
        for writes in swept(range(1, wanted.writes + 1)):
            group.create_task(lead([writes], f"killed after {writes} writes"))
        group.create_task(lead([1] * 3 * wanted.writes, "killed after every write"))


class Flip(NamedTuple):
    """Something that is set and taken back at once."""

    name: str
    job: Json
    resource: Resource
    there: Json
    back: Json


def suspension(name: str, job: Json, resource: Resource) -> Flip:
    return Flip(name, job, resource, *({"spec": {"runPolicy": {"suspend": is_set}}} for is_set in (True, False)))


def fewer_workers(name: str, job: Json, resource: Resource, specs: str) -> Flip:
    return Flip(name, job, resource, *({"spec": {specs: {"Worker": {"replicas": count}}}} for count in (1, 2)))


FLIPS = (
    suspension("a PyTorchJob that never restarts", pytorch_job(restart_policy="Never", backoffLimit=0), PYTORCH_JOBS),
    suspension("a PyTorchJob that restarts", pytorch_job(restart_policy="OnFailure"), PYTORCH_JOBS),
    suspension("an MPIJob", mpi_job(), MPI_JOBS),
    fewer_workers("fewer workers of a PyTorchJob", pytorch_job(restart_policy="Never"), PYTORCH_JOBS, "pytorchReplicaSpecs"),
    fewer_workers("fewer workers of an MPIJob", mpi_job(), MPI_JOBS, "mpiReplicaSpecs"),
)
MADE = 10
"""Writes within which each of these jobs is made."""
STOPPED = 12
"""Writes within which it is stopped and begun anew."""


@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip.name)
async def test_what_is_taken_back_at_any_write_is_no_failure(
    server: Connection, history: History, new_stage: NewStage, flip: Flip
) -> None:
    """With an operator that lives on, and with one that is killed at that moment. Pods that are deleted fail before they go."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def lead(set_before: int, taken_back_before: int, *, is_killed: bool) -> None:
        async with gate:
            await flipped(server, history, await new_stage(), flip, set_before, taken_back_before, is_killed=is_killed)

    async with asyncio.TaskGroup() as group:
        for set_before, later in swept([(set_before, later) for set_before in range(2, MADE) for later in (0, 1)]):
            group.create_task(lead(set_before, set_before + later, is_killed=False))
        for taken_back_before, is_killed in swept(
            [(before, is_killed) for before in range(1, STOPPED) for is_killed in (False, True)]
        ):
            group.create_task(lead(0, taken_back_before, is_killed=is_killed))


async def flipped(
    server: Connection, history: History, stage: Stage, flip: Flip, set_before: int, taken_back_before: int, *, is_killed: bool
) -> None:
    """Leads one job to the flip and through it; with 0 it is set once the job runs, and writes are counted from there."""
    taken_back = asyncio.Event()

    async def put() -> None:
        await stage.patch(flip.resource, "j", flip.there)

    async def take_back() -> None:
        taken_back.set()
        await stage.patch(flip.resource, "j", flip.back)
        if is_killed:
            faults.kill_after(0)

    def runs() -> bool:
        pods = stage.history.present(PODS, stage.namespace)
        all_run = all(pod.get("status", {}).get("phase") == "Running" for pod in pods)
        return len(pods) == 3 and all_run and "Running" in stage.conditions(flip.resource, "j")

    def start() -> str:
        job = stage.get(flip.resource, "j") or {}
        return str(job.get("status", {}).get("startTime", ""))

    def new() -> Operator:
        return Operator(server, namespaces=[stage.namespace], clock=stage.clock)

    first = new()
    faults, waiting = first.faults, [first]
    async with kept_running(lambda: waiting.pop() if waiting else new()), deleted_pods_fail(stage):
        if set_before == taken_back_before:

            async def put_and_take_back() -> None:
                await put()
                await take_back()

            faults.before_write(set_before, put_and_take_back)
        elif set_before:
            faults.before_write(set_before, put)
            faults.before_write(taken_back_before, take_back)
        await stage.create(flip.resource, flip.job)
        if not set_before:
            await history.until(runs)
            await history.quiet(stage.namespace, seconds=QUIET)
            before = start()
            stage.clock.offset += timedelta(hours=1)
            faults.before_write(faults.writes + taken_back_before, take_back)
            await put()
        await history.quiet(stage.namespace, seconds=QUIET)
        if not taken_back.is_set():
            await take_back()
        # On a loaded machine all may run still before what was set is heeded, and nothing happen for a moment in its midst.
        for _ in range(2):
            await history.until(runs, otherwise=lambda: f"{set_before}, {taken_back_before}, {is_killed}: {stage.shown()}")
            await history.quiet(stage.namespace, seconds=QUIET)
    about = f"set before write {set_before}, taken back before write {taken_back_before}, killed: {is_killed}"
    invariants.check(history, stage.namespace)
    for seen in history.of(flip.resource, stage.namespace):
        wrong = {"Failed", "Restarting", "Succeeded"} & {*true_conditions(seen.object)}
        assert not wrong, f"{about}: {seen.object['status']}"
    told = {event["reason"] for event in history.present(CORE_EVENTS, stage.namespace)}
    wrong = {reason for reason in told if reason.endswith(("Failed", "Restarting", "ExitedWithCode"))}
    assert not wrong, f"{about}: {wrong}"
    if not set_before and "suspend" in str(flip.there):
        pods = {seen.object["metadata"]["uid"] for seen in history.of(PODS, stage.namespace)}
        assert len(pods) in (3, 6), f"{about}: some pods were made anew, some not"
        assert (start() > before) is (len(pods) == 6), f"{about}: the clock of the job"
