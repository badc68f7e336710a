"""The pod of a template, and since when pods are available."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.meta import Json, ObjectMeta, rfc3339
from shunter.api.resources import JOBS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.pods import is_available, next_availability, pod_of, ready_since

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
OWNER = Owner(JOBS, ObjectMeta(name="x", namespace="n", uid="u"))


def pod(seconds: float | None, status: str = "True") -> Pod:
    """Ready for so long; without the condition if None."""
    at = rfc3339(NOW - timedelta(seconds=seconds or 0))
    conditions = [] if seconds is None else [{"type": "Ready", "status": status, "lastTransitionTime": at}]
    return msgspec.convert({"metadata": {"name": "p"}, "status": {"conditions": conditions}}, Pod)


@pytest.mark.parametrize(
    ("one", "least", "available"),
    [
        pytest.param(pod(None), 0, False, id="no condition"),
        pytest.param(pod(9, "False"), 0, False, id="not ready"),
        pytest.param(pod(9, "Unknown"), 0, False, id="a node that is away"),
        pytest.param(pod(0), 0, True, id="ready just now, and no wait is asked for"),
        pytest.param(pod(0), 10, False, id="ready just now"),
        pytest.param(pod(9), 10, False, id="a second too short"),
        pytest.param(pod(10), 10, True, id="just long enough"),
        pytest.param(pod(-5), 10, False, id="ready in the future of another clock"),
    ],
)
def test_a_pod_is_available_once_it_has_been_ready_for_so_long(one: Pod, least: int, available: bool) -> None:
    assert is_available(one, least, NOW) == available


def test_a_pod_is_ready_since_its_condition_changed() -> None:
    assert ready_since(pod(30)) == NOW - timedelta(seconds=30)
    assert ready_since(pod(30, "False")) is None


@pytest.mark.parametrize(
    ("pods", "least", "seconds"),
    [
        pytest.param([], 10, None, id="no pods"),
        pytest.param([pod(None)], 10, None, id="none is ready"),
        pytest.param([pod(20)], 10, None, id="all are available"),
        pytest.param([pod(4), pod(7), pod(99)], 10, 3, id="the next one"),
        pytest.param([pod(4)], 0, None, id="no wait is asked for"),
    ],
)
def test_the_next_look_is_when_a_pod_becomes_available(pods: list[Pod], least: int, seconds: float | None) -> None:
    assert next_availability(pods, least, NOW) == seconds


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["f/g"]}, "spec": {"containers": []}},
        {"spec": {"containers": []}},
        {"metadata": None, "spec": {}},
    ],
    ids=["full", "without metadata", "null metadata"],
)
def test_a_pod_is_its_template_in_the_owners_namespace(template: Json) -> None:
    before = copy.deepcopy(template)
    made = pod_of(template, OWNER)
    metadata = template.get("metadata") or {}
    assert made["spec"] == template["spec"]
    assert made["metadata"]["namespace"] == "n"
    assert [one["uid"] for one in made["metadata"]["ownerReferences"]] == ["u"]
    assert {key: made["metadata"].get(key) or None for key in ("labels", "annotations", "finalizers")} == {
        key: metadata.get(key) for key in ("labels", "annotations", "finalizers")
    }
    assert template == before
