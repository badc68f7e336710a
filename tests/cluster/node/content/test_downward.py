"""The downward API: fields and resources of a pod."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from shunter.cluster.node.content.downward import PodContext, field_value, resource_value

CONTEXT = PodContext("10.1.0.2", "10.0.0.1", {"cpu": Fraction(2), "memory": Fraction(8 << 30)})
POD: Any = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "labels": {"b": "2", "a": 'say "1"'},
        "annotations": {"bell": "\a\x7f\u2028"},
    },
    "spec": {"nodeName": "n", "serviceAccountName": "sa", "containers": []},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u"),
        ("metadata.labels", 'a="say \\"1\\""\nb="2"'),
        ("metadata.annotations", r'bell="\a\x7f\u2028"'),
        ("metadata.labels['b']", "2"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "sa"),
        ("status.podIP", "10.1.0.2"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_fields(path: str, expected: str) -> None:
    assert field_value(path, POD, CONTEXT) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param({"resource": "limits.cpu"}, "2", id="cores-are-rounded-up"),
        pytest.param({"resource": "limits.cpu", "divisor": "1m"}, "1500", id="millicores"),
        pytest.param({"resource": "limits.memory", "divisor": "1Mi"}, "8192", id="no-limit-is-the-machine"),
        pytest.param({"resource": "requests.memory", "divisor": "1Mi"}, "100", id="requests"),
        pytest.param({"resource": "requests.cpu"}, "0", id="no-request-is-nothing"),
    ],
)
def test_resources(reference: Any, expected: str) -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "100Mi"}}}
    assert resource_value(reference, container, CONTEXT) == expected
