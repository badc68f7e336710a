"""MutatingAdmissionPolicies: in which order they change a write, how often, and with which webhooks. What they say and refuse:
tests/vectors/cases/mutating-policies.yaml."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from cluster.apiserver.http_client import Api

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/mutatingadmissionpolicies", f"{GROUP}/mutatingadmissionpolicybindings"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


class Bound:
    """Policies for the ConfigMaps of one namespace, with a binding each."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._names: list[str] = []

    async def make(self, name: str, expression: str, *, again: str = "Never", **binding: Any) -> None:
        here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}, "resourceRules": [RULE]}
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
        metadata = {"name": f"{name}-{self.namespace}"}
        spec = {"matchConstraints": here, "reinvocationPolicy": again, "mutations": [mutation]}
        await self.api.create(POLICIES, {"metadata": metadata, "spec": spec})
        await self.api.create(BINDINGS, {"metadata": metadata, "spec": {"policyName": metadata["name"], **binding}})
        self._names.append(metadata["name"])

    async def remove(self) -> None:
        for path in (BINDINGS, POLICIES):
            for name in self._names:
                await self.api.request("DELETE", f"{path}/{name}")

    async def data(self, **data: str) -> dict[str, str]:
        made = await self.api.request("POST", f"{self.maps}?dryRun=All", {"metadata": {"name": "c"}, "data": data})
        found: dict[str, str] = made.body["data"]
        return found


@pytest_asyncio.fixture
async def bound(api: Api, namespace: str) -> AsyncIterator[Bound]:
    bound = Bound(api, namespace)
    yield bound
    await bound.remove()


def _append(letter: str) -> str:
    return f"[JSONPatch{{op: 'add', path: '/data/a', value: object.data.?a.orValue('') + '{letter}'}}]"


async def test_policies_are_applied_in_the_order_of_their_names_and_some_once_more(bound: Bound) -> None:
    await bound.make("b", _append("b"))
    await bound.make("a", _append("a"), again="IfNeeded")
    assert await bound.data(own="x") == {"own": "x", "a": "aba"}


async def test_what_nothing_changes_is_not_changed_once_more(bound: Bound) -> None:
    await bound.make("a", f"object.data.own == 'x' ? {_append('a')} : [JSONPatch{{op: 'test', path: '/data/own', value: 'x'}}]")
    assert await bound.data(own="y") == {"own": "y"}


async def test_validating_policies_see_what_mutating_ones_changed(bound: Bound, api: Api, namespace: str) -> None:
    await bound.make("a", _append("a"))
    metadata = {"name": f"v-{namespace}"}
    conditions = [{"name": "mine", "expression": f"request.namespace == '{namespace}'"}]
    validations = [{"expression": "!has(object.data.a)", "messageExpression": "'a is ' + object.data.a"}]
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "matchConditions": conditions, "validations": validations}
    await api.create(f"{GROUP}/validatingadmissionpolicies", {"metadata": metadata, "spec": spec})
    binding = {"policyName": metadata["name"], "validationActions": ["Deny"]}
    await api.create(f"{GROUP}/validatingadmissionpolicybindings", {"metadata": metadata, "spec": binding})
    refused = await api.request("POST", bound.maps, {"metadata": {"name": "c"}, "data": {"own": "x"}})
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        await api.request("DELETE", f"{GROUP}/{kind}/{metadata['name']}")
    assert refused.body["message"].endswith("denied request: a is a")


async def test_an_update_that_changes_nothing_by_itself_is_changed_too(bound: Bound, api: Api) -> None:
    await api.create(bound.maps, {"metadata": {"name": "c"}, "data": {"own": "x"}})
    await bound.make("a", "[JSONPatch{op: 'add', path: '/data/late', value: 'y'}]")
    stored = await api.request("GET", f"{bound.maps}/c")
    changed = await api.request("PUT", f"{bound.maps}/c", stored.body)
    assert changed.body["data"] == {"own": "x", "late": "y"}
