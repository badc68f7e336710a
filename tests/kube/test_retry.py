"""How long to wait until a request is sent again."""

import pytest

from shunter.kube.errors import Status, from_status
from shunter.kube.retry import RetryPolicy


@pytest.mark.parametrize(
    ("attempt", "asked", "seconds"), [(1, 59.0, 59.0), (9, 0.01, 0.1), (9, None, 0.1), (1, 86400.0, 60.0)], ids=str
)
def test_what_a_busy_server_asks_for_is_waited_for_up_to_a_minute(attempt: int, asked: float | None, seconds: float) -> None:
    policy = RetryPolicy(first_wait=0.1, longest_wait=0.1)
    assert policy.wait(attempt, from_status(Status(429), retry_after=asked)) == seconds
