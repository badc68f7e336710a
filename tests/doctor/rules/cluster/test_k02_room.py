"""What a pod requests, and what the scheduler says there is none of."""

from __future__ import annotations

from fractions import Fraction

import pytest

from doctor.evidences import seen
from doctor.rule_cases import node, unscheduled
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.rules.cluster.k02_room import amounts, insufficient


def asks(name: str = "c", **requests: str | int) -> Json:
    return {"name": name, "resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({}, {}, id="no containers"),
        pytest.param({"containers": [{"name": "a"}]}, {}, id="no requests"),
        pytest.param({"containers": [asks(cpu="500m"), asks("d", cpu=1)]}, {"cpu": Fraction(3, 2)}, id="containers add up"),
        pytest.param({"containers": [asks(memory="1Gi")]}, {"memory": Fraction(2**30)}, id="binary units"),
        pytest.param({"containers": [asks(cpu="0")]}, {"cpu": Fraction(0)}, id="zero"),
        pytest.param(
            {"containers": [asks(cpu="1")], "initContainers": [asks("i", cpu="4"), asks("k", cpu="2")]},
            {"cpu": Fraction(4)},
            id="the largest init container, if that is more",
        ),
        pytest.param(
            {"containers": [asks(cpu="1")], "initContainers": [{**asks("s", cpu="2"), "restartPolicy": "Always"}]},
            {"cpu": Fraction(3)},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1")],
                "initContainers": [{**asks("s", cpu="2"), "restartPolicy": "Always"}, asks("i", cpu="4")],
            },
            {"cpu": Fraction(6)},
            id="an init container runs beside earlier sidecars",
        ),
        pytest.param({"containers": [asks(cpu="1")], "overhead": {"cpu": "250m"}}, {"cpu": Fraction(5, 4)}, id="overhead"),
        pytest.param(
            {"containers": [asks(cpu="1")], "resources": {"requests": {"cpu": "6"}}}, {"cpu": Fraction(6)}, id="the pod's own"
        ),
    ],
)
def test_a_pod_requests_what_the_scheduler_counts(spec: Json, requests: dict[str, Fraction]) -> None:
    assert amounts(spec) == requests


@pytest.mark.parametrize(
    ("message", "is_short"),
    [
        ("0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.", True),
        ("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb.", True),
        ("0/1 nodes are available: 1 Too many pods.", False),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: present}.", False),
        ("", False),
    ],
    ids=["two resources", "a name with a dot in it", "too many pods", "a taint", "no message"],
)
def test_only_a_lack_of_resources_is_one(message: str, is_short: bool) -> None:
    assert insufficient([message]) == is_short


@pytest.mark.parametrize(
    ("requests", "has", "cause", "helps"),
    [
        pytest.param("8", "4", "a pod requests 8 nvidia.com/gpu", False, id="more than any node has"),
        pytest.param("8", "8", "a pod requests 8 nvidia.com/gpu", True, id="as much as a node has"),
    ],
)
def test_freeing_resources_is_a_remedy_only_if_a_node_is_large_enough(requests: str, has: str, cause: str, helps: bool) -> None:
    message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    pod = unscheduled(message, container={"resources": {"requests": {"nvidia.com/gpu": requests}}})
    (verdict,) = diagnose(seen(pod, nodes=(node(**{"nvidia.com/gpu": has}),)), NOW).verdicts
    assert (verdict.id, cause in verdict.cause) == ("K02", True)
    assert ("free resources" in verdict.remedy) == helps
