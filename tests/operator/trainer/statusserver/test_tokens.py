"""Whose token is good for a report, and how seldom the API server is asked."""

from __future__ import annotations

import asyncio
import time

import pytest

from fault_transport import Disconnect
from shunter.api.meta import Json
from shunter.kube.errors import ApiError
from shunter.operator.trainer.statusserver.place import audience
from shunter.operator.trainer.statusserver.tokens import TokenReviewer, could_be_good, is_reporter
from status_stage import JOB, Stage

pytestmark = pytest.mark.integration

WANTED = audience("team-a", "mnist")
CLAIMS = {"aud": [WANTED], "exp": 100, "kubernetes.io": {"namespace": "team-a"}}
REVIEWED = {"authenticated": True, "user": {"username": "system:serviceaccount:team-a:default"}, "audiences": [WANTED]}


@pytest.mark.parametrize(
    ("changes", "is_good"),
    [
        pytest.param({}, True, id="as it should be"),
        pytest.param({"aud": WANTED}, True, id="an audience that is no list"),
        pytest.param({"aud": [audience("team-a", "other")]}, False, id="meant for another job"),
        pytest.param({"aud": ["https://kubernetes.default.svc"]}, False, id="meant for the API server"),
        pytest.param({"exp": 50}, False, id="expired"),
        pytest.param({"exp": None}, False, id="without an end"),
        pytest.param({"kubernetes.io": {"namespace": "team-b"}}, False, id="from another namespace"),
        pytest.param({"kubernetes.io": None}, False, id="of nobody"),
    ],
)
def test_what_a_token_says_of_itself(changes: Json, is_good: bool) -> None:
    assert could_be_good({**CLAIMS, **changes}, "team-a", WANTED, 50) is is_good


@pytest.mark.parametrize(
    ("changes", "is_good"),
    [
        pytest.param({}, True, id="as it should be"),
        pytest.param({"authenticated": False}, False, id="not good"),
        pytest.param({"audiences": []}, False, id="a server that does not look at audiences"),
        pytest.param({"user": {"username": "system:serviceaccount:team-b:default"}}, False, id="of another namespace"),
        pytest.param({"user": {"username": "ann"}}, False, id="no service account"),
    ],
)
def test_what_the_api_server_says_of_it(changes: Json, is_good: bool) -> None:
    assert is_reporter({**REVIEWED, **changes}, "team-a", WANTED) is is_good


async def test_a_token_of_the_job_is_good_for_it_alone(stage: Stage) -> None:
    reviewer = TokenReviewer(stage.client, stage.pods())
    token = await stage.token()
    assert await reviewer.may_report(token, stage.namespace, JOB)
    for namespace, name in ((stage.namespace, "other"), ("default", JOB)):
        assert not await reviewer.may_report(token, namespace, name)


async def test_a_forged_token_is_refused(stage: Stage) -> None:
    head, claims, _ = (await stage.token()).split(".")
    assert not await TokenReviewer(stage.client, stage.pods()).may_report(f"{head}.{claims}.AAAA", stage.namespace, JOB)


async def test_many_reports_are_one_question(stage: Stage) -> None:
    reviewer = TokenReviewer(stage.client, stage.pods())
    token = await stage.token()
    before = len(stage.sent.requests)
    answers = await asyncio.gather(*(reviewer.may_report(token, stage.namespace, JOB) for _ in range(100)))
    assert all(answers)
    assert await reviewer.may_report(token, stage.namespace, JOB)
    assert len(stage.sent.requests) == before + 1


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", "\xff.\xff.\xff", "e30.e30.e30"])
async def test_nonsense_costs_the_api_server_nothing(stage: Stage, token: str) -> None:
    before = len(stage.sent.requests)
    assert not await TokenReviewer(stage.client, stage.pods()).may_report(token, stage.namespace, JOB)
    assert len(stage.sent.requests) == before


async def test_expired_tokens_are_refused_although_they_were_good(stage: Stage) -> None:
    now = time.time()
    reviewer = TokenReviewer(stage.client, stage.pods(), now=lambda: now)
    token = await stage.token()
    assert await reviewer.may_report(token, stage.namespace, JOB)
    now += 7200
    assert not await reviewer.may_report(token, stage.namespace, JOB)


async def test_a_server_that_is_away_is_no_answer(stage: Stage) -> None:
    token = await stage.token()
    stage.faults.inject(Disconnect(), path="tokenreviews")
    reviewer = TokenReviewer(stage.client, stage.pods())
    with pytest.raises(ApiError):
        await reviewer.may_report(token, stage.namespace, JOB)
    assert await reviewer.may_report(token, stage.namespace, JOB)
