"""The error for an answer of an API server, or of what stands before it."""

from __future__ import annotations

import pytest

from shunter.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerProblem,
    ServerTimeout,
    ServiceUnavailable,
    Status,
    TooManyRequests,
    from_answer,
    from_status,
)


@pytest.mark.parametrize(
    ("text", "seconds"), [("3", 3), ("", None), ("Fri, 31 Dec 1999 23:59:59 GMT", None), ("²", None), ("9" * 5000, None)]
)
def test_a_time_to_wait_is_read_where_it_is_one(text: str, seconds: float | None) -> None:
    error = from_answer("GET", "/api", 429, {"retry-after": text}, b"busy")
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerProblem),
        (503, "ServiceUnavailable", ServiceUnavailable),
        (504, "Timeout", ServerTimeout),
        (418, "", ApiError),
    ],
)
def test_each_status_becomes_its_branch_of_the_tree(code: int, reason: str, kind: type[ApiError]) -> None:
    error = from_status(Status(code=code, reason=reason, message="why"))
    assert type(error) is kind
    assert (error.code, error.reason, str(error)) == (code, reason, "why")


def test_a_proxys_error_page_is_shown_with_request_and_code() -> None:
    error = from_answer("GET", "/api/v1/pods", 502, {}, b"<html>bad gateway</html>")
    assert isinstance(error, ServerProblem)
    assert str(error) == "GET /api/v1/pods was answered 502: <html>bad gateway</html>"
