"""How long to wait until a request is sent again."""

from shunter.kube.retry import RetryPolicy


def test_what_a_busy_server_asks_for_is_waited_for_in_full() -> None:
    policy = RetryPolicy(first_wait=0.1, longest_wait=0.1)
    assert policy.wait(1, 60.0) == 60.0
    assert policy.wait(9, 0.01) == policy.wait(9, None) == 0.1
