"""The Scale that stands for an object."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.kinds import ScalePaths
from shunter.cluster.apiserver.subresources.scales import scale_of

PATHS = ScalePaths("spec.replicas", "status.replicas", "status.selector")


@pytest.mark.parametrize(
    ("parts", "spec", "status"),
    [
        pytest.param({}, {}, {"replicas": 0}, id="nothing is known"),
        pytest.param({"spec": {"replicas": 0}}, {}, {"replicas": 0}, id="zero is left out of the spec, as Go does"),
        pytest.param(
            {"spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b"}},
            {"replicas": 3},
            {"replicas": 2, "selector": "a=b"},
            id="a selector that is text",
        ),
        pytest.param(
            {"status": {"selector": {"matchLabels": {"b": "2", "a": "1"}}}},
            {},
            {"replicas": 0, "selector": "a=1,b=2"},
            id="a selector that is an object",
        ),
        pytest.param({"spec": None, "status": {"replicas": None, "selector": ""}}, {}, {"replicas": 0}, id="nulls"),
    ],
)
def test_a_scale_says_how_many_and_which_pods(parts: Json, spec: Json, status: Json) -> None:
    scale = scale_of({"metadata": {"name": "x", "labels": {"a": "b"}}, **parts}, PATHS)
    assert (scale["spec"], scale["status"]) == (spec, status)


def test_a_scale_has_the_objects_identity_and_not_its_labels() -> None:
    metadata: dict[str, Any] = {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "5", "labels": {"a": "b"}}
    scale = scale_of({"metadata": metadata}, PATHS)
    assert scale["metadata"] == {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
