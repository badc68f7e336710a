"""A node, a pod that waits for one, and what the scheduler makes of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.plan import Observed, plan_strictly
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.kube.controllers.plan import Create, Patch

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HELPLESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
FULL = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."


def node(name: str = "one", *, labels: dict[str, str] = {}, **spec: Any) -> Node:  # noqa: B006 -- not changed
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "3"}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}, Node
    )


def pod(name: str = "p", *, requests: dict[str, str] = {}, age: int = 0, **spec: Any) -> SchedulablePod:  # noqa: B006 -- not changed
    created = (NOW - timedelta(seconds=age)).isoformat()
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "n", "uid": name, "creationTimestamp": created, "resourceVersion": "3"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
        },
        SchedulablePod,
    )


def outcome(observed: Observed) -> str:
    """The node the pod goes to, or the message it gets."""
    (write,) = plan_strictly(observed, NOW).writes
    if isinstance(write, Create):
        assert (write.subresource, write.body["metadata"]["uid"]) == ("binding", observed.pod.metadata.uid)
        return str(write.body["target"]["name"])
    assert isinstance(write, Patch)
    (condition,) = write.patch["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert write.succeeded is not None
    assert (write.succeeded.type, write.succeeded.reason) == ("Warning", "FailedScheduling")
    assert write.succeeded.message == condition["message"]
    return str(condition["message"])
