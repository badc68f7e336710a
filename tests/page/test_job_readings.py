"""When the doctor looks at the job of the page again: a report never outlives what it is about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pytest

from page.views.test_job import V1_JOB, NoServer, v1_pod
from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.doctor.evidence import Evidence
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.operator.causes import Evidence as ApiEvidence
from shunter.page import job_readings
from shunter.page.job_readings import Diagnosing
from shunter.page.refresh import slow_readings


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The module's clock, and a server that has no more to say than what is watched."""
    found = Clock()

    async def nothing_more(client: Client, job: Json, evidence: ApiEvidence) -> ApiEvidence:
        return evidence

    async def no_lines(client: Client, job: Json, pods: list[Json]) -> dict[str, list[str]]:
        return {}

    async def evidence(client: Client, job: Json, *, reads_secrets: bool, **_: object) -> Evidence:
        assert not reads_secrets
        return Evidence(job=job, at=datetime(2026, 1, 1, 0, 10, tzinfo=UTC), pods=tuple(PODS))

    monkeypatch.setattr(job_readings, "time", found)
    monkeypatch.setattr(job_readings, "completed", nothing_more)
    monkeypatch.setattr(job_readings, "last_log_lines", no_lines)
    monkeypatch.setattr(job_readings, "api_evidence", evidence)
    return found


PODS: list[Json] = []
FAILED = {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "it failed"}]}}


async def test_a_job_that_fails_right_after_a_look_is_looked_at_again(clock: Clock) -> None:
    client, diagnosing = Client(NoServer()), Diagnosing()
    job = load_yaml(V1_JOB)
    PODS[:] = [v1_pod("master", 0), v1_pod("worker", 0), v1_pod("worker", 1)]
    first = await diagnosing.read(client, job, lambda: PODS, [])
    assert first.report is not None
    assert (first.why, first.report.verdicts) == ("", ())

    ended = {"name": "pytorch", "restartCount": 0, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    PODS[2] = v1_pod("worker", 1, phase="Failed", containerStatuses=[ended])
    failed = load_yaml(V1_JOB) | FAILED
    failed["metadata"]["resourceVersion"] = "8"
    clock.now += 0.5
    soon = await diagnosing.read(client, failed, lambda: PODS, [])
    assert soon.why.startswith("rank 2, worker-1: exit code 1")
    assert soon.report is None, "looked at half a second ago, when the job ran: that says nothing now"
    clock.now += 2
    again = await diagnosing.read(client, failed, lambda: PODS, [])
    assert again.report is not None
    assert (again.report.state, again.report is first.report) == ("Failed", False)
    clock.now += 100
    assert await diagnosing.read(client, failed, lambda: PODS, []) is again, "nothing has changed since"


async def test_the_doctor_looks_less_often_at_a_job_at_which_it_looks_for_long(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, diagnosing, looks = Client(NoServer()), Diagnosing(), list[float]()
    job = load_yaml(V1_JOB)
    PODS[:] = [v1_pod("master", 0)]

    async def slow(*_: object, **__: object) -> Evidence:
        looks.append(clock.now)
        clock.now += 2
        return Evidence(job=job, at=datetime(2026, 1, 1, 0, 10, tzinfo=UTC), pods=tuple(PODS))

    monkeypatch.setattr(job_readings, "api_evidence", slow)
    for _ in range(70):
        await diagnosing.read(client, job, lambda: PODS, [])
        clock.now += 1
    assert [later - before for before, later in pairwise(looks)] == [30.0, 30.0]


@pytest.mark.parametrize("status", [{}, FAILED], ids=["runs", "failed"])
async def test_the_cause_is_shown_while_the_doctor_gets_no_answer(
    status: Json, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen node does not answer with logs."""

    assert job_readings.REPORT_SECONDS < slow_readings.LONGEST_SECONDS, "else the whole reading fails"

    async def silent(*_: object, **__: object) -> Evidence:
        return await asyncio.Future()

    waiting = [{"name": "pytorch", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such"}}}]
    PODS[:] = [v1_pod("master", 0), v1_pod("worker", 0, phase="Pending", containerStatuses=waiting)]
    job = load_yaml(V1_JOB) | status
    client, diagnosing = Client(NoServer()), Diagnosing()
    with monkeypatch.context() as frozen:
        frozen.setattr(job_readings, "api_evidence", silent)
        frozen.setattr(job_readings, "REPORT_SECONDS", 0.05)
        async with asyncio.timeout(10):
            found = await diagnosing.read(client, job, lambda: PODS, [])
    assert (found.uid, found.report) == ("job-1", None)
    assert found.why
    assert found.not_checked == "the doctor had no answer within 0.05 s"
    clock.now += 5
    assert (await diagnosing.read(client, job, lambda: PODS, [])).not_checked == found.not_checked, "it has not run again"
    clock.now += job_readings.LONGEST_PAUSE_SECONDS
    again = await diagnosing.read(client, job, lambda: PODS, [])
    assert again.report is not None
    assert again.not_checked == ""


async def test_the_doctor_is_not_kept_away_for_long_by_one_long_look(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty seconds for a log that does not come are no load, and were followed by a pause of minutes."""
    looks, job = list[float](), load_yaml(V1_JOB)
    PODS[:] = [v1_pod("master", 0)]

    async def slow(*_: object, **__: object) -> Evidence:
        looks.append(clock.now)
        clock.now += 30
        return Evidence(job=job, at=datetime(2026, 1, 1, 0, 10, tzinfo=UTC), pods=tuple(PODS))

    monkeypatch.setattr(job_readings, "api_evidence", slow)
    client, diagnosing = Client(NoServer()), Diagnosing()
    for _ in range(200):
        await diagnosing.read(client, job, lambda: PODS, [])
        clock.now += 1
    assert [later - before for before, later in pairwise(looks)][:1] == [120.0]


async def test_a_time_limit_inside_the_doctor_is_no_limit_of_the_page(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> Evidence:
        raise TimeoutError("of something else")

    monkeypatch.setattr(job_readings, "api_evidence", broken)
    PODS[:] = [v1_pod("master", 0)]
    with pytest.raises(TimeoutError, match="of something else"):
        await Diagnosing().read(Client(NoServer()), load_yaml(V1_JOB), lambda: PODS, [])


async def test_another_job_of_the_name_has_a_diagnosis_of_its_own(clock: Clock) -> None:
    client, diagnosing = Client(NoServer()), Diagnosing()
    job = load_yaml(V1_JOB)
    PODS[:] = []
    first = await diagnosing.read(client, job, lambda: PODS, [])
    job["metadata"]["uid"] = "job-2"
    second = await diagnosing.read(client, job, lambda: PODS, [])
    assert (first.uid, second.uid) == ("job-1", "job-2")
    assert second.report is not None
    assert second.report is not first.report


async def test_what_pods_use_is_that_of_the_very_pod_and_not_of_one_that_had_its_name() -> None:
    """Metrics are by name, and some seconds old."""

    def measured(name: str, second: int) -> Json:
        usage = [{"name": "pytorch", "usage": {"cpu": "1500m", "memory": "1Ki"}}]
        return {"metadata": {"name": name}, "timestamp": f"2026-01-01T00:00:{second:02}Z", "containers": usage}

    class Metrics(NoServer):
        async def request(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
        ) -> Response:
            items = [measured("bert-worker-0", 30), measured("bert-worker-1", 30), measured("bert-worker-9", 30)]
            return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))

    pods = [v1_pod("worker", 0), v1_pod("worker", 1), v1_pod("worker", 2)]
    pods[1]["metadata"] |= {"uid": "made-again", "creationTimestamp": "2026-01-01T00:00:31Z"}
    found = await job_readings.usage(Client(Metrics()), load_yaml(V1_JOB), pods)
    assert found == {"uid-bert-worker-0": job_readings.Usage(1.5, 1024)}
