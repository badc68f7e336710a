"""What handlers read of a request."""

from __future__ import annotations

import pytest

from shunter.kube.http.request import bearer_token


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        ("Bearer abc", "abc"),
        ("bEARER abc", "abc"),
        (" Bearer abc ", "abc"),
        ("Bearer abc def", "abc"),
        ("Bearer  abc", ""),
        ("Bearer\tabc", ""),
        ("Bearer ", ""),
        ("Basic abc", ""),
        ("", ""),
    ],
)
def test_a_bearer_token_is_read_as_a_kube_apiserver_reads_it(authorization: str, token: str) -> None:
    assert bearer_token(authorization) == token
