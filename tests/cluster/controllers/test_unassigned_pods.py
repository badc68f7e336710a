"""What becomes of a pod that is deleted before it has a node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.cluster.controllers.unassigned_pods import plan

GOING = {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["batch.kubernetes.io/job-tracking"]}


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
    body = {"metadata": {"name": "p", "namespace": "n", "uid": "u", **metadata}, "spec": {"nodeName": node}}
    writes = plan(msgspec.convert({**body, "status": {"phase": phase}}, Pod)).writes
    assert [write.patch for write in writes] == [{"status": {"phase": "Failed"}}] * fails  # type: ignore[union-attr]
