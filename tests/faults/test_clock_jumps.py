"""The operator's clock jumps by hours, there and back. Times stay in order, and what is due comes once it is right."""

from __future__ import annotations

from datetime import timedelta

import pytest

from faults import invariants
from faults.history import History
from faults.operators import Operator, running
from faults.scenarios import Stage, pytorch_job, train_job, training_runtime
from shunter.api.resources import JOBSETS, PODS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(180)

HOUR = 3600


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_pytorch_job_across_a_jump_keeps_its_times_in_order(
    hours: int, server: Connection, history: History, stage: Stage
) -> None:
    async with running(Operator(server, namespaces=[stage.namespace], clock=stage.clock)):
        await stage.create(PYTORCH_JOBS, pytorch_job())
        await history.until(lambda: stage.count(PODS) == 3 and "Created" in stage.conditions(PYTORCH_JOBS, "j"))
        stage.clock.offset += timedelta(hours=hours)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"))
        await stage.pods("j-worker-0", "Failed", exitCode=137)
        await history.until(lambda: stage.count(PODS, "Pending") == 1)
        stage.clock.offset -= timedelta(hours=2 * hours)
        await stage.pods("*", "Running")
        await stage.pods("j-master-0", "Succeeded")
        await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "j"))
    invariants.check(history, stage.namespace)


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_train_job_across_a_jump_keeps_its_times_in_order(
    hours: int, server: Connection, history: History, stage: Stage
) -> None:
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(Operator(server, namespaces=[stage.namespace], clock=stage.clock)):
        await stage.create(TRAIN_JOBS, train_job(suspend=True))
        await history.until(lambda: "Suspended" in stage.conditions(TRAIN_JOBS, "j"))
        stage.clock.offset += timedelta(hours=hours)
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}})
        await history.until(lambda: stage.count(PODS) == 2)
        stage.clock.offset -= timedelta(hours=2 * hours)
        await stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": True}})
        await history.until(lambda: "Suspended" in stage.conditions(TRAIN_JOBS, "j"))
    invariants.check(history, stage.namespace)


async def test_a_clock_that_is_behind_lets_a_finished_job_stay_until_it_is_right(
    server: Connection, history: History, stage: Stage
) -> None:
    async with running(Operator(server, namespaces=[stage.namespace], clock=stage.clock)):
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=0, ttlSecondsAfterFinished=HOUR // 2, cleanPodPolicy="All"))
        await history.until(lambda: stage.count(PODS) == 1)
        await stage.pods("*", "Succeeded")
        await history.until(lambda: stage.count(PODS) == 0)
        await stage.pass_time(PYTORCH_JOBS, "j", hours=-1)
        await history.quiet(stage.namespace, seconds=0.5)
        assert stage.count(PYTORCH_JOBS) == 1
        await stage.pass_time(PYTORCH_JOBS, "j", hours=1)
        await history.quiet(stage.namespace, seconds=0.5)
        assert stage.count(PYTORCH_JOBS) == 1
        await stage.pass_time(PYTORCH_JOBS, "j", hours=1)
        await history.until(lambda: stage.count(PYTORCH_JOBS) == 0)
    invariants.check(history, stage.namespace)


@pytest.mark.parametrize("hours", [2, -2])
async def test_a_jump_that_is_mended_ends_no_job_before_its_deadline(
    hours: int, server: Connection, history: History, stage: Stage
) -> None:
    """The clock is wrong while nobody looks: deadlines are judged by the clock of the moment, not by what was planned."""
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(Operator(server, namespaces=[stage.namespace], clock=stage.clock)):
        await stage.create(PYTORCH_JOBS, pytorch_job("one", activeDeadlineSeconds=HOUR))
        await stage.create(TRAIN_JOBS, train_job("two", activeDeadlineSeconds=HOUR))
        await history.until(lambda: stage.count(PODS) == 5)
        await history.quiet(stage.namespace, seconds=0.3)
        stage.clock.offset += timedelta(hours=hours)
        stage.clock.offset -= timedelta(hours=hours)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "one"))
        assert "Failed" not in stage.conditions(TRAIN_JOBS, "two")
        await stage.pass_time(PYTORCH_JOBS, "one", hours=1.5)
        await stage.pass_time(TRAIN_JOBS, "two", hours=0)
        await history.until(lambda: "Failed" in stage.conditions(PYTORCH_JOBS, "one"))
        await history.until(lambda: "Failed" in stage.conditions(TRAIN_JOBS, "two") and stage.count(JOBSETS) == 0)
    invariants.check(history, stage.namespace)
