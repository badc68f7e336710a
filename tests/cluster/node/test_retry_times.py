"""When what failed is tried again."""

from __future__ import annotations

from shunter.cluster.node.retry_times import RetryTimes


def test_the_wait_doubles_with_each_failure_up_to_half_a_minute_and_starts_over_after_a_success() -> None:
    times, waits = RetryTimes(), []
    for _ in range(8):
        times.failed("a", 100.0)
        waits.append(times.wait("a", 100.0))
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30]
    times.succeeded("a")
    assert times.wait("a", 100.0) == 0
    times.failed("a", 100.0)
    assert times.wait("a", 100.0) == 0.5


def test_the_next_try_is_the_first_of_all_keys() -> None:
    times = RetryTimes()
    assert times.next_wait(0.0) is None
    times.failed("a", 0.0)
    times.failed("a", 0.0)
    times.failed("b", 0.25)
    assert times.next_wait(0.25) == 0.5
    assert times.next_wait(9.0) == 0, "it is overdue"
    times.succeeded("b")
    assert times.next_wait(0.5) == 0.5
