"""The quality-of-service class of pods."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.builtin.pod.resources import qos_class


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="nothing-asked"),
        pytest.param({"limits": {"nvidia.com/gpu": 1}}, "BestEffort", id="devices-do-not-count"),
        pytest.param({"requests": {"cpu": 1}}, "Burstable", id="requests-only"),
        pytest.param({"limits": {"cpu": 1, "memory": "1Gi"}}, "Guaranteed", id="limits-are-requests"),
        pytest.param({"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable", id="less-requested"),
    ],
)
def test_quality_of_service(resources: Any, expected: str) -> None:
    assert qos_class({"containers": [{"name": "main", "resources": resources}]}) == expected
