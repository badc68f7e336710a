"""Which resource a kind is on a server, and what is said where it serves none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
import pytest

from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.discovery import Discovery, served_versions
from shunter.kube.transport import Response

SERVED: dict[str, list[tuple[str, str, bool]]] = {
    "v1": [("pods", "Pod", True), ("pods/log", "Pod", True), ("pods/eviction", "Eviction", True), ("nodes", "Node", False)],
    "apps/v1": [("deployments", "Deployment", True)],
    "kubeflow.org/v1": [("pytorchjobs", "PyTorchJob", True), ("tfjobs", "TFJob", True)],
}


class Server:
    """A transport that answers what is served, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        self.asked.append(path)
        if path == "/apis":
            groups = [{"versions": [{"groupVersion": name}]} for name in SERVED if "/" in name]
            return self._answer(200, {"groups": groups})
        found = SERVED.get(path.removeprefix("/apis/").removeprefix("/api/"))
        if found is None:
            return self._answer(404, {"kind": "Status", "code": 404, "reason": "NotFound"})
        entries = [{"name": name, "kind": kind, "namespaced": namespaced} for name, kind, namespaced in found]
        return self._answer(200, {"resources": entries})

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        raise NotImplementedError

    async def close(self) -> None:
        return

    def _answer(self, code: int, body: Any) -> Response:
        return Response(code, {}, msgspec.json.encode(body))


async def test_a_kind_is_the_resource_of_its_group_and_no_subresource() -> None:
    server = Server()
    discovery = Discovery(Client(server))
    found = await discovery.resource_for("v1", "Pod", "a.yaml:1")
    assert (found.group, found.version, found.plural, found.namespaced) == ("", "v1", "pods", True)
    assert (await discovery.resource_for("kubeflow.org/v1", "TFJob", "a.yaml:1")).plural == "tfjobs"
    assert not (await discovery.resource_for("v1", "Node", "a.yaml:1")).namespaced
    assert server.asked == ["/api/v1", "/apis/kubeflow.org/v1"]  # each once


@pytest.mark.parametrize(
    ("api_version", "kind", "message", "remedy"),
    [
        ("kubeflow.org/v1", "PytorchJob", "a.yaml:1: kubeflow.org/v1 has no kind 'PytorchJob'.", "Did you mean PyTorchJob?"),
        ("v1", "Eviction", "a.yaml:1: v1 has no kind 'Eviction'.", "It serves Node, Pod."),
        ("v1", "Zebra", "a.yaml:1: v1 has no kind 'Zebra'.", "It serves Node, Pod."),
        (
            "apps/v1beta1",
            "Deployment",
            "a.yaml:1: this cluster serves no apiVersion 'apps/v1beta1' (Deployment).",
            "Deployment is served as apps/v1.",
        ),
        (
            "kueue.x-k8s.io/v1beta1",
            "LocalQueue",
            "a.yaml:1: this cluster serves no apiVersion 'kueue.x-k8s.io/v1beta1' (LocalQueue).",
            "It belongs to Kueue, which is not installed in this cluster.",
        ),
        (
            "kueue/v1",
            "LocalQueue",
            "a.yaml:1: this cluster serves no apiVersion 'kueue/v1' (LocalQueue).",
            "LocalQueue is of the group kueue.x-k8s.io. It belongs to Kueue, which is not installed in this cluster.",
        ),
        (
            "kubeflow/v1",
            "Widget",
            "a.yaml:1: this cluster serves no apiVersion 'kubeflow/v1' (Widget).",
            "Did you mean kubeflow.org/v1?",
        ),
        (  # ends like one that is served, and is otherwise unlike it
            "example.org/v1",
            "Widget",
            "a.yaml:1: this cluster serves no apiVersion 'example.org/v1' (Widget).",
            "Is the CustomResourceDefinition installed?",
        ),
        (
            "acme.io/v2alpha3",
            "Widget",
            "a.yaml:1: this cluster serves no apiVersion 'acme.io/v2alpha3' (Widget).",
            "Is the CustomResourceDefinition installed?",
        ),
    ],
)
async def test_what_is_not_served_is_named_with_what_is_near(api_version: str, kind: str, message: str, remedy: str) -> None:
    with pytest.raises(InputError) as refusal:
        await Discovery(Client(Server())).resource_for(api_version, kind, "a.yaml:1")
    assert (refusal.value.message, refusal.value.remedy) == (message, remedy)


async def test_versions_are_those_of_all_groups_and_the_core() -> None:
    assert await served_versions(Client(Server())) == {"v1", "apps/v1", "kubeflow.org/v1"}
