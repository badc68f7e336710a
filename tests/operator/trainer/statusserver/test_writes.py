"""Of each job at most one write an interval, the newest report wins, and everybody hears what concerns them."""

from __future__ import annotations

import asyncio

import pytest

from fault_transport import Delay, Refuse
from shunter.api.meta import Json
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ApiError, Invalid, NotFound
from shunter.operator.trainer.statusserver import writes
from shunter.operator.trainer.statusserver.writes import StatusWriter, TooManyReportsError
from status_stage import JOB, Stage

pytestmark = pytest.mark.integration

NEVER = 3600.0


def report(percentage: int) -> Json:
    return {"progressPercentage": percentage, "lastUpdatedTime": "2026-11-21T10:00:00Z"}


async def test_the_first_report_is_written_at_once_as_the_servers_own(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=NEVER)
    await writer.report(Key(stage.namespace, JOB), report(1))
    assert await stage.status() == report(1)
    (sent,) = [request for request in stage.sent.requests if request.method == "PATCH"]
    assert sent.path.endswith(f"/trainjobs/{JOB}/status")
    assert (sent.params["fieldManager"], sent.params["force"]) == ("trainer-status", "true")
    await writer.close()


async def test_a_thousand_reports_within_an_interval_are_one_further_write_of_the_newest(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=NEVER)
    key = Key(stage.namespace, JOB)
    await writer.report(key, report(0))
    for number in range(1000):
        await writer.report(key, report(number % 100))
    assert stage.writes == 1
    await writer.close()
    assert stage.writes == 2
    assert await stage.status() == report(99)


async def test_what_is_no_longer_reported_goes(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.01)
    key = Key(stage.namespace, JOB)
    await writer.report(key, {**report(5), "metrics": [{"name": "loss", "value": "1"}]})
    await writer.close()
    other = StatusWriter(stage.client)
    await other.report(key, report(6))
    await other.close()
    assert await stage.status() == report(6)


async def test_what_the_api_server_refuses_is_told_to_its_sender_alone(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.05)
    key = Key(stage.namespace, JOB)
    stage.faults.inject(Delay(0.2), method="PATCH")
    first = asyncio.create_task(writer.report(key, report(1)))
    await asyncio.sleep(0)
    second, bad = [asyncio.create_task(writer.report(key, report(number))) for number in (2, 101)]
    await first
    with pytest.raises(Invalid, match="progressPercentage"):
        await bad
    await second
    assert await stage.status() == report(2)
    await writer.close()


async def test_a_report_that_cannot_be_accepted_is_never_acknowledged(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.05)
    key = Key(stage.namespace, JOB)
    await writer.report(key, report(1))
    with pytest.raises(Invalid, match="lastUpdatedTime is required when trainerStatus is present"):
        await writer.report(key, {"progressPercentage": 2})
    assert await stage.status() == report(1)
    await writer.close()


async def test_a_job_that_is_not_there_is_told_to_all_who_wait(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.05)
    key = Key(stage.namespace, "nobody")
    found = await asyncio.gather(*(writer.report(key, report(number)) for number in range(3)), return_exceptions=True)
    assert [type(error) for error in found] == [NotFound] * 3
    await writer.close()


async def test_after_a_failure_reports_are_not_acknowledged_unwritten(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.05)
    key = Key(stage.namespace, JOB)
    await writer.report(key, report(1))
    stage.faults.inject(Refuse(500), method="PATCH", times=2)
    await writer.report(key, report(2))
    errors: list[ApiError] = []
    async with asyncio.timeout(5):
        while not errors:
            try:
                await writer.report(key, report(3))
                await asyncio.sleep(0.01)
            except ApiError as error:
                errors.append(error)
    assert errors[0].message == "injected"
    await writer.close()


async def test_reports_that_wait_are_limited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "MOST_WAITING", 2)
    stage.faults.inject(Delay(0.2), method="PATCH")
    writer = StatusWriter(stage.client)
    key = Key(stage.namespace, JOB)
    waiting = [asyncio.create_task(writer.report(key, report(number))) for number in range(4)]
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert {type(task.exception()) for task in done} == {TooManyReportsError}
    await writer.close()
    await asyncio.wait(waiting)


async def test_reports_of_a_known_job_wait_for_no_slow_server(stage: Stage) -> None:
    writer = StatusWriter(stage.client, interval=0.01)
    key = Key(stage.namespace, JOB)
    await writer.report(key, report(1))
    await asyncio.sleep(0.1)
    stage.faults.inject(Delay(NEVER), method="PATCH")
    async with asyncio.timeout(1):
        await writer.report(key, report(2))


async def test_jobs_are_forgotten_when_nothing_is_reported_any_more(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "KNOWN_SECONDS", 0.01)
    writer = StatusWriter(stage.client, interval=0.01)
    await writer.report(Key(stage.namespace, JOB), report(1))
    async with asyncio.timeout(5):
        while writer.jobs:  # noqa: ASYNC110 -- the condition is the writer's
            await asyncio.sleep(0.01)
