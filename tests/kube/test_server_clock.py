"""The time by an API server's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from shunter.kube.client import Client
from shunter.kube.server_clock import ServerClock
from shunter.kube.transport import Response

SENT = datetime(2026, 11, 29, 12, 0, 0, 400_000, tzinfo=UTC)


def ahead(clock: ServerClock) -> float:
    """By how many seconds the server's clock is ahead."""
    return (clock.now() - datetime.now(UTC)).total_seconds()


def written(seconds: float) -> str:
    """The header of a server whose clock is so many seconds ahead."""
    return format_datetime((SENT + timedelta(seconds=seconds)).replace(microsecond=0), usegmt=True)


@pytest.mark.parametrize("seconds", [180, -180, 7200, -7200, 86400, 5])
def test_a_clock_that_differs_is_known_to_a_second(seconds: float) -> None:
    clock = ServerClock()
    clock.note(written(seconds), SENT.timestamp(), SENT.timestamp() + 0.1)
    assert ahead(clock) == pytest.approx(seconds, abs=1.1)


@pytest.mark.parametrize("seconds", [0, 0.5, -0.5, 1, -1])
def test_clocks_that_agree_within_the_resolution_are_equal(seconds: float) -> None:
    clock = ServerClock()
    clock.note(written(seconds), SENT.timestamp(), SENT.timestamp() + 0.1)
    assert ahead(clock) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(
    ("date", "took"), [("", 0.1), ("yesterday", 0.1), ("Sun, 29 Nov 99999 12:00:00 GMT", 0.1), (written(180), 6)]
)
def test_an_answer_that_says_nothing_of_the_clock_changes_nothing(date: str, took: float) -> None:
    clock = ServerClock()
    clock.note(written(-60), SENT.timestamp(), SENT.timestamp() + 0.1)
    clock.note(date, SENT.timestamp(), SENT.timestamp() + took)
    assert ahead(clock) == pytest.approx(-60, abs=1.1)


def test_a_clock_that_was_set_right_is_right_again() -> None:
    clock = ServerClock()
    for seconds in (180, 0):
        clock.note(written(seconds), SENT.timestamp(), SENT.timestamp() + 0.1)
    assert ahead(clock) == pytest.approx(0, abs=0.01)


class Late:
    """A transport to a server whose clock is an hour behind."""

    async def request(self, method: str, path: str, **_: object) -> Response:
        date = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
        return Response(200, {"date": date}, b"{}")


async def test_a_client_takes_the_time_from_answers() -> None:
    client = Client(Late())  # type: ignore[arg-type]
    await client.raw("GET", "/version")
    assert (datetime.now(UTC) - client.now()).total_seconds() == pytest.approx(3600, abs=1.1)
