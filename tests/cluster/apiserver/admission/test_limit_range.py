"""LimitRanges meet pods before anything has judged them."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.apiserver.http_client import Api

LIMITS = [{"type": "Container", "default": {"cpu": "1"}, "max": {"memory": "1Gi"}}, {"type": "Pod", "max": {"cpu": "2"}}]


@pytest.mark.parametrize("containers", [None, [], [{}], [{"image": "x", "resources": None}]])
async def test_a_pod_that_is_no_pod_is_refused_as_such(api: Api, namespace: str, containers: Any) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    await api.create(f"{path}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": LIMITS}})
    answer = await api.request("POST", f"{path}/pods", {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
