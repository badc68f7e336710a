"""The log of a container, followed across lost connections: no line twice, none left out, wherever it began."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shunter.cli.options.log_options import LogOptions, attempts
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem, Status, from_status
from shunter.kube.pods import log_reading
from shunter.kube.pods.log_reading import LogPart, LogPosition, followed_lines
from shunter.kube.transport import Response

POD = {"metadata": {"name": "p", "namespace": "n"}}


LOST = ConnectionProblem("reset")


class CutLog:
    """A server of one log, whose connection is lost after each of `cuts` lines. Of `sinceTime` it takes the seconds."""

    def __init__(self, log: list[tuple[str, str]], cuts: list[int], problem: ApiError) -> None:
        self._problem = problem
        self._log = log
        self._cuts = cuts
        self.asked: list[dict[str, str]] = []

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        raise AssertionError(path)

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        self.asked.append(dict(params))
        lines = [f"{time} {text}\n" for time, text in self._log if time[:19] >= params.get("sinceTime", "")[:19]]
        if "tailLines" in params:
            lines = lines[len(lines) - int(params["tailLines"]) :]
        count = self._cuts.pop(0) if self._cuts else len(lines)
        for line in lines[:count]:
            yield line.encode()
        if count < len(lines):
            yield lines[count][:7].encode()  # half a line
            raise self._problem

    async def close(self) -> None:
        return


async def read(
    log: list[tuple[str, str]], cuts: list[int], part: LogPart, problem: ApiError = LOST
) -> tuple[list[str], list[dict[str, str]]]:
    server = CutLog(log, cuts, problem)
    return [line async for line in followed_lines(Client(server), POD, "c", part)], server.asked


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reading, "RETRY_SECONDS", 0)


def moment(step: int) -> str:
    """Go leaves the zeros at the end of a fraction out."""
    fraction = f"{step % 4 * 25:02}".rstrip("0")
    return f"2026-01-01T00:00:{step // 4:02}{'.' if fraction else ''}{fraction}Z"


STEPS = st.lists(st.integers(0, 40), min_size=1, max_size=20).map(sorted)


@example(steps=[0, 0, 0], cuts=[1], tail=2)
@given(steps=STEPS, cuts=st.lists(st.integers(0, 25), max_size=6), tail=st.none() | st.integers(1, 20))
async def test_every_line_comes_once(steps: list[int], cuts: list[int], tail: int | None) -> None:
    log_reading.RETRY_SECONDS = 0
    log = [(moment(step), f"line {place}") for place, step in enumerate(steps)]
    tail = min(tail, len(log)) if tail is not None else None
    lines, _ = await read(log, list(cuts), LogPart(tail_lines=tail))
    assert lines == [text for _, text in log[len(log) - tail if tail is not None else 0 :]]


async def test_times_are_shown_only_when_asked_for() -> None:
    log = [(moment(0), "a b"), (moment(1), "")]
    assert (await read(log, [], LogPart()))[0] == ["a b", ""]
    assert (await read(log, [1], LogPart(timestamps=True)))[0] == [f"{moment(0)} a b", f"{moment(1)} "]


async def test_after_a_lost_connection_a_tail_is_not_asked_for_again() -> None:
    _, asked = await read([(moment(0), "a"), (moment(1), "b")], [1], LogPart(tail_lines=2))
    assert [("tailLines" in params, params.get("sinceTime")) for params in asked] == [(True, None), (False, moment(0))]


async def test_a_log_goes_on_after_a_server_that_was_busy() -> None:
    busy = from_status(Status(code=429, message="too many requests"))
    lines, _ = await read([(moment(0), "a"), (moment(1), "b")], [1], LogPart(), busy)
    assert lines == ["a", "b"]


def test_options_become_what_a_server_is_asked_for() -> None:
    assert LogOptions().part() == LogPart()
    assert LogOptions(tail=0, since="1m30.5s", previous=True, timestamps=True).part() == LogPart(True, True, 0, 91)
    assert LogOptions(tail=3, since="1s").part().later() == LogPart()


@pytest.mark.parametrize("since", ["0s", "-1s", "10", "yesterday", "1d"])
def test_a_since_that_is_no_time_is_refused(since: str) -> None:
    with pytest.raises(InputError):
        LogOptions(since=since).part()


def test_the_run_before_cannot_be_followed() -> None:
    with pytest.raises(InputError, match="cannot be followed"):
        LogOptions(previous=True).part(follow=True)


def test_only_containers_that_have_started_have_begun() -> None:
    waiting = {"name": "a", "state": {"waiting": {}}}
    ended = {"name": "b", "state": {"terminated": {}}, "restartCount": 2}
    pod = {"metadata": {"uid": "u"}, "status": {"initContainerStatuses": [ended], "containerStatuses": [waiting]}}
    assert attempts([pod, {"metadata": {"uid": "v"}}]) == {("u", "b", 2)}


def test_lines_of_one_time_are_read_in_time_in_proportion_to_their_number() -> None:
    """As a container writes them by the thousand at once."""

    def seconds(lines: int) -> float:
        position = LogPosition()
        begun = time.process_time()
        assert all(position.is_new("2026-11-26T10:00:00.000000001Z step 1") for _ in range(lines))
        return time.process_time() - begun

    assert min(seconds(40_000) for _ in range(2)) < 12 * max(seconds(10_000) for _ in range(2))
