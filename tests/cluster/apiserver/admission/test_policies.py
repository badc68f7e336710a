"""ValidatingAdmissionPolicies: what they refuse, warn of, and leave alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from cluster.apiserver.http_client import Answer, Api

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "DELETE"], "resources": ["configmaps"]}


class Bound:
    """A policy for the ConfigMaps of one namespace, and its binding."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"

    async def make(
        self, *validations: dict[str, Any], actions: list[str], binding: dict[str, Any] | None = None, **spec: Any
    ) -> None:
        conditions = [{"name": "mine", "expression": f"request.namespace == '{self.namespace}'"}]
        body = {"matchConstraints": {"resourceRules": [RULE]}, "matchConditions": conditions, "validations": list(validations)}
        metadata = {"name": self.namespace}
        await self.api.create(POLICIES, {"metadata": metadata, "spec": {**body, **spec}})
        bound = {"policyName": self.namespace, "validationActions": actions, **(binding or {})}
        await self.api.create(BINDINGS, {"metadata": metadata, "spec": bound})

    async def remove(self) -> None:
        for path in (BINDINGS, POLICIES):
            await self.api.request("DELETE", f"{path}/{self.namespace}")

    async def post(self, name: str = "c", **data: str) -> Answer:
        return await self.api.request("POST", self.maps, {"metadata": {"name": name}, "data": data})


@pytest_asyncio.fixture
async def bound(api: Api, namespace: str) -> AsyncIterator[Bound]:
    bound = Bound(api, namespace)
    yield bound
    await bound.remove()


async def test_a_denied_write_says_policy_binding_and_message(bound: Bound) -> None:
    await bound.make({"expression": "object.data.k != 'bad'", "message": "no bad key"}, actions=["Deny"])
    assert (await bound.post(k="good")).code == 201
    refused = await bound.post("d", k="bad")
    title = f"ValidatingAdmissionPolicy '{bound.namespace}' with binding '{bound.namespace}'"
    message = f"{title} denied request: no bad key"
    assert refused.code == 422
    assert refused.body["reason"] == "Invalid"
    assert refused.body["message"] == f'configmaps "d" is forbidden: {message}'
    assert refused.body["details"] == {"name": "d", "kind": "configmaps", "causes": [{"message": message}]}


async def test_a_warning_lets_the_write_through(bound: Bound) -> None:
    await bound.make({"expression": "false", "message": "soon gone"}, actions=["Warn"])
    answer = await bound.post()
    title = f"ValidatingAdmissionPolicy '{bound.namespace}' with binding '{bound.namespace}'"
    assert (answer.code, answer.warnings) == (201, [f'299 - "Validation failed for {title}: soon gone"'])


@pytest.mark.parametrize(
    ("validation", "code", "message"),
    [
        pytest.param({"expression": "object.data.k == 'x'"}, 422, "failed expression: object.data.k == 'x'", id="no message"),
        pytest.param(
            {"expression": "false", "messageExpression": "'key ' + object.data.k", "message": "m", "reason": "Forbidden"},
            403,
            "key v",
            id="a message that is made",
        ),
        pytest.param(
            {"expression": "false", "messageExpression": "string(object.data.none)", "message": "m"},
            422,
            "m",
            id="one that cannot be made",
        ),
        pytest.param({"expression": "variables.key == 'w'", "message": "m"}, 422, "m", id="a variable"),
        pytest.param(
            {"expression": "namespaceObject.metadata.name == ''", "message": "m"}, 422, "m", id="the namespace of the write"
        ),
    ],
)
async def test_messages_and_reasons(bound: Bound, validation: dict[str, Any], code: int, message: str) -> None:
    await bound.make(validation, actions=["Deny"], variables=[{"name": "key", "expression": "object.data.k"}])
    refused = await bound.post(k="v")
    assert (refused.code, refused.body["message"].rpartition("denied request: ")[2]) == (code, message)


@pytest.mark.parametrize(("policy", "code"), [("Fail", 422), ("Ignore", 201)])
async def test_an_expression_that_cannot_be_evaluated_follows_the_failure_policy(bound: Bound, policy: str, code: int) -> None:
    await bound.make({"expression": "object.data.none == 'x'"}, actions=["Deny"], failurePolicy=policy)
    answer = await bound.post(k="v")
    assert answer.code == code
    if code == 422:
        assert "expression 'object.data.none == 'x'' resulted in error: no such key" in answer.body["message"]


async def test_a_deletion_is_judged_by_what_is_deleted(bound: Bound) -> None:
    await bound.make({"expression": "request.operation != 'DELETE' || oldObject.metadata.name != 'kept'"}, actions=["Deny"])
    for name in ("kept", "other"):
        assert (await bound.post(name)).code == 201
    assert (await bound.api.request("DELETE", f"{bound.maps}/kept")).code == 422
    assert (await bound.api.request("DELETE", f"{bound.maps}/other")).code == 200


async def test_a_binding_narrows_what_is_matched_and_without_one_nothing_is_judged(bound: Bound, api: Api) -> None:
    narrow = {"matchResources": {"objectSelector": {"matchLabels": {"judged": "yes"}}}}
    await bound.make({"expression": "false"}, actions=["Deny"], binding=narrow)
    assert (await bound.post("free")).code == 201
    judged = {"metadata": {"name": "judged", "labels": {"judged": "yes"}}}
    assert (await api.request("POST", bound.maps, judged)).code == 422
    await api.request("DELETE", f"{BINDINGS}/{bound.namespace}")
    assert (await api.request("POST", bound.maps, judged)).code == 201


async def test_parameters_are_objects_that_the_binding_names(bound: Bound, api: Api) -> None:
    reference = {"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}
    kind = {"apiVersion": "v1", "kind": "Secret"}
    await bound.make(
        {"expression": "size(object.data.k) <= int(params.metadata.labels.most)", "message": "too long"},
        actions=["Deny"],
        binding=reference,
        paramKind=kind,
    )
    missing = await bound.post("a", k="1")
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in missing.body["message"]
    secret = {"metadata": {"name": "limits", "labels": {"most": "3"}}}
    await api.create(f"/api/v1/namespaces/{bound.namespace}/secrets", secret)
    assert (await bound.post("a", k="123")).code == 201
    assert (await bound.post("b", k="1234")).code == 422


async def test_a_dry_run_is_judged_too(bound: Bound, api: Api) -> None:
    await bound.make({"expression": "false"}, actions=["Deny"])
    assert (await api.request("POST", f"{bound.maps}?dryRun=All", {"metadata": {"name": "a"}})).code == 422
