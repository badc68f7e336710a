"""The error for an answer of an API server, or of what stands before it."""

from __future__ import annotations

import pytest

from shunter.kube.errors import TooManyRequests, from_answer


@pytest.mark.parametrize(
    ("text", "seconds"), [("3", 3), ("", None), ("Fri, 31 Dec 1999 23:59:59 GMT", None), ("²", None), ("9" * 5000, None)]
)
def test_a_time_to_wait_is_read_where_it_is_one(text: str, seconds: float | None) -> None:
    error = from_answer("GET", "/api", 429, {"retry-after": text}, b"busy")
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == seconds
