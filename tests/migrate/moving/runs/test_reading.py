"""Logs of a run that do not come: a finished trial is removed next, so what was followed of it is kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import pytest

from job_evidence import running, v1_job, v1_pod
from jobs.test_evidence import Lists, pod
from shunter.jobs.metrics import Series
from shunter.kube.client import Client
from shunter.kube.errors import ServerTimeout, from_answer
from shunter.migrate.moving.runs import reading
from shunter.migrate.moving.runs.reading import run_of

LINES = [f"2026-11-21T10:00:0{step}Z step {step} loss 0.{step}" for step in (1, 2, 3)]
CONTAINERS = {"containers": [{"name": "pytorch"}]}


class Slow(Lists):
    """A server on which the worker's log breaks off after two lines, so often."""

    def __init__(self, breaks: int) -> None:
        super().__init__(pods=[pod(v1_pod(role, spec=CONTAINERS, **running())) for role in ("master", "worker")])
        self.breaks = breaks

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        for line in LINES[:2]:
            yield f"{line}\n".encode()
        if "worker" in path and self.breaks:
            self.breaks -= 1
            raise from_answer(method, path, 504, {}, b'{"kind": "Status", "code": 504, "message": "no log in time"}')
        yield f"{LINES[2]}\n".encode()


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RETRY_SECONDS", 0)


def steps(series: Series) -> list[float]:
    return [point.at[0] for point in series.points]


async def test_a_log_that_breaks_off_is_read_again_from_its_beginning() -> None:
    run = await run_of(Client(Slow(breaks=2)), v1_job())
    assert {one.rank: steps(one) for one in run.series} == {0: [1, 2, 3], 1: [1, 2, 3]}


async def test_the_lines_that_were_followed_replace_a_log_that_never_comes() -> None:
    run = await run_of(Client(Slow(breaks=99)), v1_job(), last_lines={"worker-0": LINES[1:]})
    assert {one.rank: steps(one) for one in run.series} == {0: [1, 2, 3], 1: [2, 3]}


async def test_a_run_that_was_not_followed_is_not_read_without_a_log() -> None:
    with pytest.raises(ServerTimeout, match="no log in time"):
        await run_of(Client(Slow(breaks=99)), v1_job())
