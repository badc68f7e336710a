"""Coscheduling: the PodGroup, and the label of its pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.api.meta import Json
from shunter.operator.trainer.render import rendered

Make = Callable[..., Any]


def requests(**amounts: Any) -> Json:
    return {"containers": [{"name": "node", "image": "img", "resources": {"requests": amounts}}]}


def test_a_coscheduling_group_counts_every_pod_and_what_they_request(make_trainjob: Make, runtime_of: Make) -> None:
    runtime = runtime_of(
        {"torch": {}},
        groups={"coscheduling": {"scheduleTimeoutSeconds": 7}},
        prepare=requests(cpu="250m", memory="64Mi"),
        node=requests(cpu=3, **{"nvidia.com/gpu": 1}),
    )
    made = rendered(make_trainjob(trainer={"numNodes": 4, "resourcesPerNode": {"limits": {"cpu": 9}}}), runtime)
    (group,) = made.objects
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["spec"] == {
        "minMember": 5,
        "minResources": {"cpu": "12250m", "memory": "64Mi", "nvidia.com/gpu": "4"},
        "scheduleTimeoutSeconds": 7,
    }
    for replicated in made.jobset["spec"]["replicatedJobs"]:
        assert replicated["template"]["spec"]["template"]["metadata"]["labels"] == {"scheduling.x-k8s.io/pod-group": "mnist"}
