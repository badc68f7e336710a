"""The API server is away for a while, and comes back with empty caches. Nothing is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from faults import invariants
from faults.history import History
from faults.operator_process import LEASE
from faults.operators import Operator, kept_running, running, until
from faults.planes import Plane
from faults.scenarios import Stage, pytorch_job, train_job, training_runtime
from shunter.api.resources import JOBSETS, PODS, SERVICES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.cache.reflector import Timing
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(300)

SCALE = {"embedded": 12.0, "real": 1.0}
"""On the embedded plane absence and patience are a twelfth as long."""


def timing(scale: float) -> Timing:
    return Timing(longest_wait=30.0 / scale, silence=75.0 / scale)


async def away(plane: Plane, seconds: float) -> None:
    await asyncio.to_thread(plane.stop_api_server)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(plane.start_api_server)


@pytest.mark.parametrize("seconds", [1, 10, 60])
async def test_work_goes_on_when_the_server_comes_back_after_seconds(
    seconds: int, plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    scale = SCALE[plane.kind]
    operator = Operator(server, namespaces=[stage.namespace], timing=timing(scale))
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job("before"))
        await stage.create(TRAIN_JOBS, train_job("too"))
        await history.until(lambda: stage.count(PODS) == 5 and stage.count(SERVICES) >= 3)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "before"))
        await history.until(lambda: stage.jobs_status("too", "ready") == 1)
        await history.quiet(stage.namespace, seconds=0.5)
        sent = len(operator.sent.writes)
        await away(plane, seconds / scale)
        await until(lambda: operator.is_synced, seconds=60)
        await stage.create(PYTORCH_JOBS, pytorch_job("after", workers=0))
        await stage.pods("before-master-0", "Succeeded")
        await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "before"), seconds=60)
        await history.until(lambda: "Created" in stage.conditions(PYTORCH_JOBS, "after"), seconds=60)
        await history.quiet(stage.namespace, seconds=0.5)
        about_others = [request for request in operator.sent.writes[sent:] if "/too" in request.path]
        assert not about_others, "nothing had happened to this job"
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_leader_without_server_gives_up_its_lead_and_takes_it_again(
    plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    """A server that is away for longer than the renewal may take ends the process; whoever starts it again finds everything."""
    scale = SCALE[plane.kind]
    lease = LeaderOptions(
        name=LEASE,
        namespace=stage.namespace,
        lease_duration=4.0,
        renew_deadline=3.0,
        retry_period=0.25,
    )
    new = partial(Operator, server, namespaces=[stage.namespace], timing=timing(scale), leader=lease)
    async with kept_running(new) as operators:
        await stage.create(PYTORCH_JOBS, pytorch_job())
        await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 3)
        before = len(operators)
        await asyncio.to_thread(plane.stop_api_server)
        await until(lambda: len(operators) > before, seconds=60)
        await asyncio.to_thread(plane.start_api_server)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"), seconds=60)
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_server_that_restarts_during_the_work_loses_nothing(
    plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    """Killed in the middle of many creations, at once back with an empty watch cache."""
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(Operator(server, namespaces=[stage.namespace], timing=timing(10))):
        for number in range(10):
            await stage.create(PYTORCH_JOBS, pytorch_job(f"v1-{number}"))
            await stage.create(TRAIN_JOBS, train_job(f"v2-{number}"))
            if number == 5:
                await away(plane, 0)
        await history.until(lambda: stage.count(SERVICES) >= 30 and stage.count(JOBSETS) == 10, seconds=90)
        await history.until(lambda: stage.count(PODS) == 50, seconds=90)
        await history.quiet(stage.namespace, seconds=0.5)
    invariants.check(history, stage.namespace, is_job_controller_ours=plane.kind == "embedded")
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}
