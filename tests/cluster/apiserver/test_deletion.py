"""What a DELETE says to the garbage collector when the client leaves the propagation open; finalizing and evicting."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.apiserver.http_client import Api

MINUTE, COME_ROUND = timedelta(minutes=1), timedelta(seconds=3_875_820_019)
CONTAINER = {"name": "c", "image": "img:1"}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "owner"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}},
}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}


@pytest.mark.parametrize(
    ("resource", "body", "query", "finalizers"),
    [
        ("/apis/batch/v1/namespaces/{}/jobs", JOB, "", ["orphan"]),
        ("/apis/batch/v1/namespaces/{}/jobs", JOB, "?propagationPolicy=Background", None),
        ("/apis/batch/v1/namespaces/{}/jobs", JOB, "?propagationPolicy=Foreground", ["foregroundDeletion"]),
        ("/api/v1/namespaces/{}/configmaps", CONFIG_MAP, "", None),
    ],
    ids=["a Job orphans its pods", "a Job in the background", "a Job in the foreground", "other kinds in the background"],
)
async def test_propagation_that_is_left_open_is_the_kinds_own(
    api: Api, namespace: str, resource: str, body: dict[str, Any], query: str, finalizers: list[str] | None
) -> None:
    path = resource.format(namespace)
    await api.create(path, body)
    assert (await api.request("DELETE", f"{path}/owner{query}")).code == 200
    answer = await api.request("GET", f"{path}/owner")
    if finalizers is None:
        assert answer.code == 404
    else:
        assert (await api.get(f"{path}/owner"))["metadata"]["finalizers"] == finalizers


async def test_a_dry_run_finalizes_no_namespace(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    await api.request("DELETE", path)
    answer = await api.request("PUT", f"{path}/finalize?dryRun=All", {"metadata": {"name": namespace}, "spec": {}})
    assert (answer.code, answer.body["spec"]) == (200, {})
    assert (await api.get(path))["spec"] == {"finalizers": ["kubernetes"]}


async def test_a_namespace_is_finalized_while_others_write_to_it(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}"
    await api.request("DELETE", path)
    kept = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}, "spec": {"finalizers": ["kubernetes"]}}
    finalizing = (api.request("PUT", f"{path}/finalize", kept) for _ in range(20))
    changing = (api.merge(path, {"metadata": {"annotations": {f"n{n}": "x"}}}) for n in range(20))
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*(one for pair in zip(changing, finalizing, strict=True) for one in pair))
    assert {answer.code for answer in answers} <= {200, 409}, "a patch whose base changed five times is refused"


async def test_an_eviction_takes_no_other_pod_than_the_one_that_was_meant(api: Api, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    pod = await api.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}})

    async def evict(**preconditions: str) -> int:
        body = {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": preconditions}}
        return (await api.request("POST", f"{pods}/p/eviction", body)).code

    assert await evict(uid="another") == 409
    assert await evict(resourceVersion="1") == 409
    assert await api.get(f"{pods}/p") == pod
    assert await evict(uid=pod["metadata"]["uid"], resourceVersion=pod["metadata"]["resourceVersion"]) == 201
    assert (await api.request("GET", f"{pods}/p")).code == 404


async def test_a_grace_period_beyond_the_calendar_is_answered_and_can_be_shortened(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    await api.create(path, {"metadata": {"name": "p"}, "spec": {"nodeName": "nowhere", "containers": [CONTAINER]}})
    long = await api.request("DELETE", f"{path}/p?gracePeriodSeconds=1000000000000")
    assert (long.code, long.body["metadata"]["deletionGracePeriodSeconds"]) == (200, 10**12)
    # Go's nanoseconds have come round by then: 3,875,820,019 s from now.
    assert abs(datetime.fromisoformat(long.body["metadata"]["deletionTimestamp"]) - datetime.now(UTC) - COME_ROUND) < MINUTE
    short = await api.request("DELETE", f"{path}/p?gracePeriodSeconds=3")
    assert short.body["metadata"]["deletionGracePeriodSeconds"] == 3
    assert abs(datetime.fromisoformat(short.body["metadata"]["deletionTimestamp"]) - datetime.now(UTC)) < MINUTE
    assert (await api.request("DELETE", f"{path}/p?gracePeriodSeconds=0")).code == 200
