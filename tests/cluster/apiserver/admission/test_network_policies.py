"""Whoever writes a NetworkPolicy is warned of the nodes that do not enforce it, and of no others."""

from __future__ import annotations

import pytest

from cluster.apiserver.http_client import Answer, Api
from shunter.cluster.enforced_policies import ANNOTATION, ENFORCED

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"


async def test_the_node_that_does_not_enforce_it_is_named(api: Api, namespace: str) -> None:
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"

    def own(answer: Answer) -> list[str]:
        """Other tests have nodes on this server, too."""
        return [warning for warning in answer.warnings if namespace in warning]

    says = {f"{namespace}-deaf": "its pods are simulated", f"{namespace}-able": ENFORCED}
    for name, annotation in says.items():
        await api.create(NODES, {"metadata": {"name": name, "annotations": {ANNOTATION: annotation}}})
    try:
        created = await api.request("POST", path, {"metadata": {"name": "p"}, "spec": {"podSelector": {}}})
        wanted = [f'299 - "node {namespace}-deaf does not enforce NetworkPolicies: its pods are simulated"']
        assert (created.code, own(created)) == (201, wanted)
        changed = await api.merge(f"{path}/p", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})
        assert (changed.code, own(changed)) == (200, wanted)
    finally:
        for name in says:
            await api.request("DELETE", f"{NODES}/{name}")
    silent = await api.request("POST", path, {"metadata": {"name": "q"}, "spec": {"podSelector": {}}})
    assert (silent.code, own(silent)) == (201, [])
