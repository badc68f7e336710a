"""Every answer of the status server, over TLS and against a real API server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest

from fault_transport import Disconnect, Refuse
from shunter.api.meta import Json
from shunter.kube.controllers.plan import Key
from shunter.kube.tls.certificates import issue, new_authority
from shunter.kube.tls.serving_tls import ServingTls
from shunter.operator.trainer.statusserver.place import StatusServerPlace, audience, job_of
from shunter.operator.trainer.statusserver.server import Rates, StatusServer
from shunter.operator.trainer.statusserver.tokens import TokenReviewer
from shunter.operator.trainer.statusserver.writes import StatusWriter
from status_stage import JOB, Stage

pytestmark = pytest.mark.integration

AUTHORITY = new_authority("tests")
PAIR = issue(AUTHORITY, "tests", ["127.0.0.1"])
STATUS = {"lastUpdatedTime": "2026-11-21T10:00:00Z", "progressPercentage": 7}


class Reporter:
    """A training program, and the server it reports to."""

    def __init__(self, stage: Stage, place: StatusServerPlace, session: aiohttp.ClientSession, token: str) -> None:
        self.stage = stage
        self.url = place.report_url(stage.namespace, JOB)
        self.session = session
        self.token = token

    async def send(self, *, url: str = "", method: str = "POST", bearer: str | None = None, **body: object) -> tuple[int, Json]:
        headers = {"Authorization": f"Bearer {self.token}" if bearer is None else bearer}
        async with self.session.request(method, url or self.url, headers=headers, **body) as answer:  # type: ignore[arg-type]
            assert answer.content_type == "application/json"
            return answer.status, await answer.json()


@pytest.fixture
async def reporter(stage: Stage) -> AsyncIterator[Reporter]:
    tls = ServingTls()
    tls.use(PAIR)
    writer = StatusWriter(stage.client, interval=0.05)
    server = StatusServer("127.0.0.1", 0, tls.context, TokenReviewer(stage.client, stage.pods()), writer)
    await server.start()
    place = StatusServerPlace(f"https://127.0.0.1:{server.port}", AUTHORITY.certificate.decode())
    trusted = ssl.create_default_context(cadata=place.authorities)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
        yield Reporter(stage, place, session, await stage.token())
    await server.stop()


def refused(code: int, reason: str, message: str) -> tuple[int, Json]:
    return code, {"metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}


FORBIDDEN = refused(403, "Forbidden", "Forbidden")
NOT_FOUND = refused(404, "NotFound", "Not found")
INVALID = refused(422, "Invalid", "Invalid payload")
TOO_LARGE = refused(413, "RequestEntityTooLarge", "Payload too large")


async def test_a_report_is_written_and_echoed(reporter: Reporter) -> None:
    sent = {**STATUS, "lastUpdatedTime": "2026-11-21T10:00:00.123456+00:00", "unknown": 1}
    assert await reporter.send(json={"trainerStatus": sent}) == (200, {"trainerStatus": STATUS})
    assert await reporter.stage.status() == STATUS


@pytest.mark.parametrize("body", ["{}", "null", '{"trainerStatus": null} trailing'])
async def test_nothing_to_report_is_no_write(reporter: Reporter, body: str) -> None:
    assert await reporter.send(data=body) == (200, {})
    assert reporter.stage.writes == 0


async def test_nothing_to_report_about_a_job_that_is_not_there_is_no_fault(reporter: Reporter) -> None:
    token = await reporter.stage.token(job="nobody")
    url = reporter.url.replace(JOB, "nobody")
    assert await reporter.send(url=url, bearer=f"Bearer {token}", data="{}") == (200, {})


@pytest.mark.parametrize("body", ["", "{", "[]", '{"trainerStatus": {"progressPercentage": "7"}}'])
async def test_a_body_that_is_no_report_is_invalid(reporter: Reporter, body: str) -> None:
    assert await reporter.send(data=body) == INVALID


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"progressPercentage": 7}, "lastUpdatedTime is required when trainerStatus is present"),
        ({**STATUS, "progressPercentage": 101}, "should be less than or equal to 100"),
    ],
)
async def test_what_the_schema_forbids_is_refused_in_the_api_servers_words(
    reporter: Reporter, status: Json, message: str
) -> None:
    code, answer = await reporter.send(json={"trainerStatus": status})
    assert (code, answer["code"], answer["reason"]) == (422, 422, "Invalid")
    assert f'TrainJob.trainer.kubeflow.org "{JOB}" is invalid' in answer["message"]
    assert message in answer["message"]


@pytest.mark.parametrize(
    ("path", "bearer", "length", "refusal"),
    [
        pytest.param("/elsewhere", "", 100, NOT_FOUND, id="to a path that is none"),
        pytest.param("", "", 100, FORBIDDEN, id="of nobody"),
        pytest.param("", "Bearer x.y.z", 100, FORBIDDEN, id="of somebody else"),
        pytest.param("", "mine", 10**6, TOO_LARGE, id="that is too long"),
    ],
)
async def test_a_report_is_refused_before_its_body_is_there(
    reporter: Reporter, path: str, bearer: str, length: int, refusal: tuple[int, Json]
) -> None:
    url = urlsplit(reporter.url)
    tls = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    token = f"Bearer {reporter.token}" if bearer == "mine" else bearer
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=tls)
        writer.write(f"POST {path or url.path} HTTP/1.1\r\nHost: a\r\nAuthorization: {token}\r\n".encode())
        writer.write(b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % length)
        head = await reader.readuntil(b"\r\n\r\n")
        body = msgspec.json.decode(await reader.readuntil(b'"code":%d}' % refusal[0]))
        writer.transport.abort()
    assert head.startswith(b"HTTP/1.1 %d " % refusal[0])
    assert (refusal[0], body) == refusal


async def test_a_job_that_is_not_there_is_not_found(reporter: Reporter) -> None:
    token = await reporter.stage.token(job="nobody")
    answer = await reporter.send(
        url=reporter.url.replace(JOB, "nobody"), bearer=f"Bearer {token}", json={"trainerStatus": STATUS}
    )
    assert answer == refused(404, "NotFound", "Train job not found")


@pytest.mark.parametrize(
    "bearer", ["", "Bearer", "Basic x", "Bearer a b", "Bearer nonsense", "Bearer a.b.c"], ids=lambda bearer: bearer or "nothing"
)
async def test_who_shows_no_good_token_is_forbidden(reporter: Reporter, bearer: str) -> None:
    assert await reporter.send(bearer=bearer, json={"trainerStatus": STATUS}) == FORBIDDEN


async def test_the_scheme_is_taken_in_any_case(reporter: Reporter) -> None:
    assert (await reporter.send(bearer=f"bEARER {reporter.token}", data="{}"))[0] == 200


async def test_a_token_of_another_job_or_namespace_is_forbidden(reporter: Reporter) -> None:
    for url in (reporter.url.replace(JOB, "other"), reporter.url.replace(reporter.stage.namespace, "default")):
        assert await reporter.send(url=url, json={"trainerStatus": STATUS}) == FORBIDDEN


async def test_a_token_for_the_api_server_is_forbidden(reporter: Reporter) -> None:
    token = await reporter.stage.token(audiences=["https://kubernetes.default.svc"])
    assert await reporter.send(bearer=f"Bearer {token}", json={"trainerStatus": STATUS}) == FORBIDDEN


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_another_method_is_not_found(reporter: Reporter, method: str) -> None:
    assert await reporter.send(method=method, bearer="") == NOT_FOUND


async def test_another_path_is_not_found(reporter: Reporter) -> None:
    for url in (f"{reporter.url}/", reporter.url.removesuffix("/status"), reporter.url.replace("trainjobs", "pods")):
        assert await reporter.send(url=url, bearer="") == NOT_FOUND


async def test_a_length_beyond_the_limit_is_refused_before_anything_else(reporter: Reporter) -> None:
    for url in (reporter.url, reporter.url + "/no/such/path"):
        assert await reporter.send(url=url, bearer="", data=b"x" * 65537) == TOO_LARGE


async def test_a_body_in_chunks_beyond_the_limit_is_invalid(reporter: Reporter) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(70):
            yield b" " * 1000

    assert await reporter.send(data=chunks()) == INVALID


async def test_a_body_at_the_limit_is_read(reporter: Reporter) -> None:
    assert await reporter.send(data=b"{}".ljust(65536)) == (200, {})


@pytest.mark.parametrize("fault", [Disconnect(), Refuse(500), Refuse(403, "Forbidden")], ids=["away", "failing", "forbidding"])
async def test_trouble_of_the_api_server_is_an_internal_error(reporter: Reporter, fault: Disconnect | Refuse) -> None:
    reporter.stage.faults.inject(fault, method="PATCH")
    assert await reporter.send(json={"trainerStatus": STATUS}) == refused(500, "InternalError", "Internal error")


async def test_a_token_that_cannot_be_checked_is_an_internal_error(reporter: Reporter) -> None:
    reporter.stage.faults.inject(Disconnect(), path="tokenreviews")
    assert await reporter.send(json={"trainerStatus": STATUS}) == refused(500, "InternalError", "Internal error")


async def test_a_bug_of_ours_is_said_and_ends_nothing(reporter: Reporter, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("shunter.operator.trainer.statusserver.server.parsed", None)
        assert await reporter.send(data="{}") == refused(500, "InternalError", "Internal Server Error")
    assert (await reporter.send(data="{}"))[0] == 200


async def test_a_job_may_send_only_so_many(reporter: Reporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rates, "allows", lambda self, key: False)
    assert await reporter.send(data="{}") == refused(429, "TooManyRequests", "Too many reports of this job")


def test_an_allowance_comes_back_with_time() -> None:
    now = 0.0
    rates = Rates(10, clock=lambda: now)
    one, other = Key("a", "one"), Key("a", "other")
    assert [rates.allows(one) for _ in range(21)] == [True] * 20 + [False]
    assert rates.allows(other)
    now = 0.5
    assert [rates.allows(one) for _ in range(6)] == [True] * 5 + [False]
    now = 100.0
    assert [rates.allows(one) for _ in range(21)] == [True] * 20 + [False]


async def test_acknowledged_reports_are_written_before_the_end(stage: Stage) -> None:
    tls = ServingTls()
    tls.use(PAIR)
    writer = StatusWriter(stage.client, interval=3600)
    server = StatusServer("127.0.0.1", 0, tls.context, TokenReviewer(stage.client, stage.pods()), writer)
    running = asyncio.create_task(server.run())
    async with asyncio.timeout(5):
        while server.why_not_ready():  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.001)
    place = StatusServerPlace(f"https://127.0.0.1:{server.port}", AUTHORITY.certificate.decode())
    trusted = ssl.create_default_context(cadata=place.authorities)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
        reporter = Reporter(stage, place, session, await stage.token())
        for percentage in (1, 2, 3):
            assert (await reporter.send(json={"trainerStatus": {**STATUS, "progressPercentage": percentage}}))[0] == 200
    assert stage.writes == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await stage.status() == {**STATUS, "progressPercentage": 3}


def test_path_and_audience_name_the_same_job() -> None:
    assert audience("team-a", "mnist") == "trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs/mnist/status"
    assert job_of(f"/apis/{audience('team-a', 'mnist')}") == ("team-a", "mnist")
    assert job_of(f"/apis/{audience('..', 'mnist')}") is None
