"""A pod waits for its claims, and tells those that wait for it which node it will have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.claims import PodClaim
from shunter.cluster.controllers.scheduler.plan import Observed, plan
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.volumes.views import SELECTED_NODE, Claim, StorageClass
from shunter.kube.controllers.plan import Create, Patch, Plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WAITS = msgspec.convert({"metadata": {"name": "standard"}, "volumeBindingMode": "WaitForFirstConsumer"}, StorageClass)


def looked(*claimed: PodClaim) -> Plan:
    volumes = [{"name": one.name, "persistentVolumeClaim": {"claimName": one.name}} for one in claimed]
    metadata = {"name": "p", "namespace": "n", "uid": "p1"}
    pod = msgspec.convert({"metadata": metadata, "spec": {"volumes": [{"name": "e", "emptyDir": {}}, *volumes]}}, SchedulablePod)
    assert pod.claims == tuple(one.name for one in claimed)
    node = msgspec.convert({"metadata": {"name": "one"}}, Node)
    return plan(Observed(pod=pod, nodes=(node,), claimed=claimed), NOW)


def claimed(phase: str, storage_class: StorageClass | None = None, **metadata: Any) -> PodClaim:
    body = {"metadata": {"name": "data", "namespace": "n", "uid": "c1", **metadata}, "status": {"phase": phase}}
    return PodClaim("data", msgspec.convert(body, Claim), storage_class)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        pytest.param(PodClaim("data", None), 'persistentvolumeclaim "data" not found', id="a claim that is not there"),
        pytest.param(claimed("Pending"), "pod has unbound immediate PersistentVolumeClaims", id="one without its volume"),
        pytest.param(
            claimed("Bound", deletionTimestamp="2026-11-21T11:00:00Z"),
            'persistentvolumeclaim "data" is being deleted',
            id="one that is going",
        ),
    ],
)
def test_a_pod_waits_for_its_claims_and_says_so(one: PodClaim, message: str) -> None:
    (write,) = looked(one).writes
    assert isinstance(write, Patch)
    assert write.succeeded is not None
    assert write.succeeded.message.startswith(f"0/1 nodes are available: {message}. ")


def test_a_pod_whose_claims_are_bound_gets_its_node() -> None:
    (write,) = looked(claimed("Bound")).writes
    assert isinstance(write, Create)
    assert write.subresource == "binding"


def test_a_claim_that_waits_for_the_pod_is_told_its_node_once() -> None:
    (write,) = looked(claimed("Pending", WAITS)).writes
    assert isinstance(write, Patch)
    assert write.patch == {"metadata": {"annotations": {SELECTED_NODE: "one"}}}
    assert looked(claimed("Pending", WAITS, annotations={SELECTED_NODE: "one"})).writes == ()
