"""Paths and bodies of requests, as values."""

from __future__ import annotations

import asyncio

import pytest

from cluster.apiserver.http_client import Api
from shunter.cluster.apiserver.requests import Target, target, unsigned_fault
from shunter.kube.http.request import flag


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


@pytest.mark.parametrize("text", ["0", "7", "18446744073709551615", "0" * 30 + "5"])
def test_unsigned_numbers_of_64_bits_have_no_fault(text: str) -> None:
    assert unsigned_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("²", "invalid syntax"),
        ("٣", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("18446744073709551616", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
)
def test_what_is_no_unsigned_number_is_named_as_go_names_it(text: str, why: str) -> None:
    assert unsigned_fault(text) == f'strconv.ParseUint: parsing "{text}": {why}'
