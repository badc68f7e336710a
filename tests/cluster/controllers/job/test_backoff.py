"""How long a Job waits before it replaces failed pods."""

from datetime import UTC, datetime, timedelta

import pytest

from shunter.cluster.controllers.job.backoff import Finish, delay

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def ago(seconds: float, *, succeeded: bool = False) -> Finish:
    return Finish(NOW - timedelta(seconds=seconds), succeeded)


@pytest.mark.parametrize(
    ("finishes", "seconds"),
    [
        pytest.param([], 0, id="nothing ended"),
        pytest.param([ago(0)], 10, id="a failure just now"),
        pytest.param([ago(4)], 6, id="the time since the failure counts"),
        pytest.param([ago(60)], 0, id="a failure long ago"),
        pytest.param([ago(0), ago(5)], 20, id="a second failure doubles the wait"),
        pytest.param([ago(index) for index in range(4)], 80, id="four failures"),
        pytest.param([ago(0)] * 30, 600, id="ten minutes at most"),
        pytest.param([ago(9), ago(5, succeeded=True)], 0, id="a success forgives failures before it"),
        pytest.param([ago(9), ago(5, succeeded=True), ago(2)], 8, id="failures after the last success count"),
    ],
)
def test_wait_doubles_with_each_failure_after_the_last_success(finishes: list[Finish], seconds: float) -> None:
    assert delay(finishes, NOW) == timedelta(seconds=seconds)
