"""A pod reports for its own job only, and while it is there."""

from __future__ import annotations

import asyncio

import pytest

from shunter.api.resources import PODS
from shunter.operator.trainer.statusserver import pods
from shunter.operator.trainer.statusserver.tokens import TokenReviewer
from status_stage import JOB, Stage

pytestmark = pytest.mark.integration


async def test_a_pod_reports_as_long_as_it_is_there(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "THERE_SECONDS", 0.0)
    stage.jobset_uid[JOB] = "one"
    await stage.pod("one")
    token, reviewer = await stage.token(pod="pod"), TokenReviewer(stage.client, stage.pods())
    assert await reviewer.may_report(token, stage.namespace, JOB)
    await stage.client.delete(PODS, "pod", stage.namespace, grace_period_seconds=0)
    assert not await reviewer.may_report(token, stage.namespace, JOB)


async def test_a_pod_of_the_same_name_does_not_lend_its_life(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "THERE_SECONDS", 0.0)
    stage.jobset_uid[JOB] = "one"
    await stage.pod("one")
    token, reviewer = await stage.token(pod="pod"), TokenReviewer(stage.client, stage.pods())
    assert await reviewer.may_report(token, stage.namespace, JOB)
    await stage.client.delete(PODS, "pod", stage.namespace, grace_period_seconds=0)
    await stage.pod("one")
    assert not await reviewer.may_report(token, stage.namespace, JOB)


async def test_a_pod_does_not_report_for_a_new_job_of_the_same_name(stage: Stage) -> None:
    stage.jobset_uid[JOB] = "one"
    await stage.pod("one")
    token, reviewer = await stage.token(pod="pod"), TokenReviewer(stage.client, stage.pods())
    assert await reviewer.may_report(token, stage.namespace, JOB)
    stage.jobset_uid[JOB] = "two"
    assert not await reviewer.may_report(token, stage.namespace, JOB)
    del stage.jobset_uid[JOB]
    assert not await reviewer.may_report(token, stage.namespace, JOB)


async def test_a_pod_that_is_no_jobs_reports_nothing(stage: Stage) -> None:
    await stage.pod("")
    reviewer = TokenReviewer(stage.client, stage.pods())
    assert not await reviewer.may_report(await stage.token(pod="pod"), stage.namespace, JOB)


async def test_many_reports_ask_for_their_pod_once(stage: Stage) -> None:
    stage.jobset_uid[JOB] = "one"
    await stage.pod("one")
    token, reviewer = await stage.token(pod="pod"), TokenReviewer(stage.client, stage.pods())
    before = len(stage.sent.requests)
    assert all(await asyncio.gather(*(reviewer.may_report(token, stage.namespace, JOB) for _ in range(100))))
    assert [request.method for request in stage.sent.requests[before:]] == ["POST", "GET"]
