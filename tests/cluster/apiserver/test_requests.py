"""Paths, bodies and Accept headers as values."""

from __future__ import annotations

import asyncio

import pytest

from cluster.apiserver.http_client import Api
from shunter.cluster.apiserver.negotiation import Form, form, read
from shunter.cluster.apiserver.object_meta import generated_name, without_duplicate_owners
from shunter.cluster.apiserver.requests import Target, flag, target
from shunter.cluster.apiserver.status import StatusError


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/ns", Target("", "v1", "namespaces", "", "ns")),
        ("/api/v1/namespaces/ns/status", Target("", "v1", "namespaces", "", "ns", "status")),
        ("/api/v1/namespaces/ns/finalize", Target("", "v1", "namespaces", "", "ns", "finalize")),
        ("/api/v1/namespaces/ns/pods", Target("", "v1", "pods", "ns")),
        ("/api/v1/namespaces/ns/pods/p/log", Target("", "v1", "pods", "ns", "p", "log")),
        ("/apis/batch/v1/namespaces/ns/jobs/j", Target("batch", "v1", "jobs", "ns", "j")),
        ("/apis/batch/v1", Target("batch", "v1")),
        ("/apis/batch", None),
        ("/healthz", None),
    ],
)
def test_paths(path: str, expected: Target | None) -> None:
    assert target(path) == expected


@pytest.mark.parametrize("value", ["true", "True", "1", "t", "", "anything"])
def test_flags_that_are_on(value: str) -> None:
    assert flag({"watch": value}, "watch")


@pytest.mark.parametrize("value", ["false", "False", "0", "f"])
def test_flags_that_are_off(value: str) -> None:
    assert not flag({"watch": value}, "watch")
    assert not flag({}, "watch")


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


@pytest.mark.parametrize(
    ("size", "code"), [pytest.param(2_500_000, 201, id="large"), pytest.param(3_200_000, 413, id="too large")]
)
async def test_bodies_up_to_three_mebibytes_are_read(api: Api, namespace: str, size: int, code: int) -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "large"},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"template": {"spec": {"containers": [{"name": "pytorch", "image": "x", "args": ["x" * size]}]}}}
            }
        },
    }
    answer = await api.request("POST", f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs?dryRun=All", job)
    assert answer.code == code


async def test_what_is_said_to_exist_can_be_read(api: Api, config_maps: str) -> None:
    async def create_or_get(name: str, data: str) -> int:
        created = await api.request("POST", config_maps, {"metadata": {"name": name}, "data": {"x": data}})
        return created.code if created.code == 201 else (await api.request("GET", f"{config_maps}/{name}")).code

    for n in range(10):
        large = "x" * 900_000
        codes = await asyncio.gather(*(create_or_get(f"c{n}", data) for data in (large, "", large, "", large, "")))
        assert sorted(codes) == [200, 200, 200, 200, 200, 201]


def test_cbor_is_refused_so_that_clients_fall_back() -> None:
    with pytest.raises(StatusError) as refusal:
        read(b"", "application/cbor", "Thing")
    assert (refusal.value.code, refusal.value.reason) == (415, "UnsupportedMediaType")


def test_generated_names_fit_a_label() -> None:
    name = generated_name("x" * 100 + "-")
    assert len(name) == 63
    assert generated_name("a-").startswith("a-")
    assert len(generated_name("a-")) == 7


def test_repeated_owners_are_dropped() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    metadata = {"ownerReferences": [owner, dict(owner), {**owner, "uid": "v"}]}
    assert without_duplicate_owners(metadata)
    assert [o["uid"] for o in metadata["ownerReferences"]] == ["u", "v"]
    assert not without_duplicate_owners(metadata)
