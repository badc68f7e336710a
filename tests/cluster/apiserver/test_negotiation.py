"""In which form a client asks for answers, and how bodies are read."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.negotiation import Form, form, read
from shunter.cluster.apiserver.status import StatusError


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Form()),
        ("application/json", Form()),
        ("application/json;stream=watch", Form()),
        ("application/vnd.kubernetes.protobuf, */*", Form()),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form("json", "table", "v1")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Form("json", "table", "v1beta1")),
        ("application/json;as=Other;g=meta.k8s.io, application/yaml", Form("yaml", "object", "v1")),
    ],
)
def test_accept_headers(accept: str, expected: Form) -> None:
    assert form(accept) == expected


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        (b'{"a":1,"b":{"c":2}}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":{"b":1,"b":2},"l":[{"x":1,"x":2}]}', ["a.b", "l[0].x"]),
        (b'{ "a" : 1 , "a" : 2 }', ["a"]),
        (b'{"text":"a\\":b\\":c"}', []),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
    ],
)
def test_duplicate_keys_are_found(body: bytes, duplicates: list[str]) -> None:
    assert read(body, "application/json", "Thing").duplicates == duplicates


def test_yaml_dates_stay_text() -> None:
    document = read(b"when: 2026-01-01\nat: 2026-01-01T00:00:00Z\n", "application/yaml", "Thing").document
    assert document == {"when": "2026-01-01", "at": "2026-01-01T00:00:00Z"}


def test_cbor_is_refused_so_that_clients_fall_back() -> None:
    with pytest.raises(StatusError) as refusal:
        read(b"", "application/cbor", "Thing")
    assert (refusal.value.code, refusal.value.reason) == (415, "UnsupportedMediaType")
