"""What becomes of a pod that is deleted before it has a node."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.cluster.controllers.unassigned_pods import WAIT_SECONDS, plan

DELETED = datetime.fromisoformat("2026-11-21T12:00:00Z")
GOING = {"deletionTimestamp": DELETED.isoformat(), "finalizers": ["batch.kubernetes.io/job-tracking"]}


@pytest.mark.parametrize(
    ("metadata", "node", "phase", "fails"),
    [
        pytest.param(GOING, "", "Pending", True, id="nobody else can say that it ended"),
        pytest.param({}, "", "Pending", False, id="it waits for a node"),
        pytest.param(GOING, "n", "Pending", False, id="its node says how it ended"),
        pytest.param(GOING, "", "Failed", False, id="it has been said"),
    ],
)
def test_a_deleted_pod_without_a_node_has_failed(metadata: dict[str, Any], node: str, phase: str, *, fails: bool) -> None:
    pod = a_pod(metadata, node, phase)
    after = plan(pod, DELETED + timedelta(seconds=WAIT_SECONDS))
    assert [write.patch for write in after.writes] == [{"status": {"phase": "Failed"}}] * fails  # type: ignore[union-attr]
    before = plan(pod, DELETED + timedelta(seconds=1))
    assert (before.writes, before.requeue_after) == ((), WAIT_SECONDS - 1 if fails else None)


def a_pod(metadata: dict[str, Any], node: str, phase: str) -> Pod:
    body = {"metadata": {"name": "p", "namespace": "n", "uid": "u", **metadata}, "spec": {"nodeName": node}}
    return msgspec.convert({**body, "status": {"phase": phase}}, Pod)
