"""Whoever writes a NetworkPolicy is warned of the nodes that do not enforce it, and of no others."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from cluster.apiserver.http_client import Answer, Api
from shunter.api.meta import Json
from shunter.api.resources import NETWORK_POLICIES, Resource
from shunter.cluster.apiserver.builtin.plain import kinds
from shunter.cluster.enforced_policies import ANNOTATION, ENFORCED, PROCESS_NODE

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"


async def test_nodes_that_do_not_enforce_it_are_named(api: Api, namespace: str) -> None:
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"

    def own(answer: Answer) -> list[str]:
        """Other tests have nodes on this server, too."""
        return [warning for warning in answer.warnings if namespace in warning]

    says = {f"{namespace}-deaf": f"reason of {namespace}", f"{namespace}-able": ENFORCED}
    for name, annotation in says.items():
        await api.create(NODES, {"metadata": {"name": name, "annotations": {ANNOTATION: annotation}}})
    try:
        created = await api.request("POST", path, {"metadata": {"name": "p"}, "spec": {"podSelector": {}}})
        wanted = [f'299 - "node {namespace}-deaf does not enforce NetworkPolicies: reason of {namespace}"']
        assert (created.code, own(created)) == (201, wanted)
        changed = await api.merge(f"{path}/p", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
        assert (changed.code, own(changed)) == (200, wanted)
    finally:
        for name in says:
            await api.request("DELETE", f"{NODES}/{name}")
    silent = await api.request("POST", path, {"metadata": {"name": "q"}, "spec": {"podSelector": {}}})
    assert (silent.code, own(silent)) == (201, [])


class Nodes(NamedTuple):
    """All the objects that there are."""

    nodes: list[Json]

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return next((node for node in self.nodes if node["metadata"]["name"] == name), None)

    def all(self, resource: Resource, namespace: str = "") -> list[Json]:
        return self.nodes


def node(name: str, says: str | None, **labels: str) -> Json:
    return {"metadata": {"name": name, "labels": labels, "annotations": {} if says is None else {ANNOTATION: says}}}


@pytest.mark.parametrize(
    ("nodes", "warnings"),
    [
        pytest.param(
            [node("a", None, **{PROCESS_NODE: "true"})], ["node a does not say whether it enforces NetworkPolicies"], id="silent"
        ),
        pytest.param([node("a", None)], [], id="not a process node"),
        pytest.param([node("b", "why"), node("a", "why")], ["nodes a, b do not enforce NetworkPolicies: why"], id="one reason"),
        pytest.param(
            [node("a", "why"), node("b", "other")],
            ["node b does not enforce NetworkPolicies: other", "node a does not enforce NetworkPolicies: why"],
            id="two reasons",
        ),
        pytest.param(
            [node(f"n{number:x}", None, **{PROCESS_NODE: "true"}) for number in range(12)],
            ["nodes n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more do not say whether they enforce NetworkPolicies"],
            id="many",
        ),
    ],
)
def test_what_many_nodes_say_is_few_warnings(nodes: list[Json], warnings: list[str]) -> None:
    (kind,) = (kind for kind in kinds() if kind.resource == NETWORK_POLICIES)
    assert kind.warnings({}, None, Nodes(nodes)) == warnings
