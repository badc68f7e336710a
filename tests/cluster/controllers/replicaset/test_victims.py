"""Which pods of a ReplicaSet go first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.cluster.controllers.replicaset.victims import victims

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def pod(
    name: str, *, phase: str = "Running", node: str = "n", ready: float | None = 100, restarts: int = 0, cost: str = ""
) -> Pod:
    """A pod that has been ready for so many seconds."""
    status: dict[str, Any] = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": restarts}]}
    if ready is not None:
        since = (NOW - timedelta(seconds=ready)).isoformat()
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    metadata = {"name": name, "uid": name, "creationTimestamp": (NOW - timedelta(seconds=1000)).isoformat()}
    annotations = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
    return msgspec.convert(
        {"metadata": {**metadata, "annotations": annotations}, "spec": {"nodeName": node}, "status": status}, Pod
    )


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param({"node": ""}, {"phase": "Pending", "ready": None}, id="one without a node goes before a pending one"),
        pytest.param({"phase": "Pending", "ready": None}, {"ready": None}, id="a pending one goes before one that runs"),
        pytest.param({"ready": None}, {"cost": "-5"}, id="one that is not ready goes before a cheaper one"),
        pytest.param({"cost": "-5"}, {"cost": "9" * 5000}, id="a cost too long to read is none"),
        pytest.param({"cost": "-5"}, {"cost": f"{-(2**31) - 1}"}, id="a cost beyond 32 bits is none"),
        pytest.param({"restarts": 9}, {"cost": "007"}, id="a cost with a leading zero is none"),
        pytest.param({"cost": "-5"}, {"ready": 1}, id="a cheaper one goes before a younger one"),
        pytest.param({"ready": 1}, {"restarts": 9}, id="one ready for a shorter time goes before one restarted"),
        pytest.param({"restarts": 9}, {}, id="one restarted more often goes first"),
    ],
)
def test_the_pods_of_least_use_go_first(first: dict[str, Any], last: dict[str, Any]) -> None:
    one, other = pod("b", **first), pod("a", **last)
    assert victims([other, one], (), 1, NOW) == (one,)


def test_pods_beside_others_go_first() -> None:
    crowded, lonely = pod("b", node="n1"), pod("a", node="n2")
    assert victims([lonely, crowded], [crowded, pod("c", node="n1"), lonely], 1, NOW) == (crowded,)
