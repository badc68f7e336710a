"""In which form a client asks for answers, and how bodies are read."""

from __future__ import annotations

import pytest

from cluster.apiserver.http_client import Api
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


@pytest.mark.integration
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        pytest.param("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Table", id="kubectl"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", "ConfigMapList", id="client-go"),
        pytest.param("*/*", "ConfigMapList", id="curl"),
        pytest.param(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            "PartialObjectMetadataList",
            id="metadata client",
        ),
    ],
)
async def test_the_first_form_that_can_be_given_is(api: Api, config_maps: str, accept: str, kind: str) -> None:
    answer = await api.request("GET", config_maps, Accept=accept)
    assert answer.body["kind"] == kind


@pytest.mark.integration
async def test_yaml_for_who_asks_for_it(api: Api, config_maps: str) -> None:
    await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    answer = await api.request("GET", f"{config_maps}/a", Accept="application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.body.startswith("apiVersion: v1\ndata:\n  x: '1'\n")


@pytest.mark.integration
async def test_what_cannot_be_given_is_406(api: Api, config_maps: str) -> None:
    answer = await api.request("GET", config_maps, Accept="application/vnd.kubernetes.protobuf")
    assert (answer.code, answer.body["reason"]) == (406, "NotAcceptable")
