"""What of a ResourceQuota is used."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, PODS, Resource
from shunter.cluster.controllers.quota.plan import Observed, plan
from shunter.kube.controllers.plan import StatusWrite

HARD = {"pods": "3", "requests.cpu": "2000m", "requests.memory": "1Gi", "count/configmaps": "5", "requests.nvidia.com/gpu": "8"}


def pod(phase: str = "Running", **requests: str) -> Json:
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": containers},
        "status": {"phase": phase},
    }


def status_of(objects: dict[Resource, list[Json]], **quota: Any) -> StatusWrite:
    metadata = {"name": "q", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    made = plan(Observed(quota={"metadata": metadata, "spec": {"hard": HARD}, **quota}, objects=objects)).status
    assert made is not None
    return made


def test_what_objects_request_is_used_in_the_unit_of_the_limit() -> None:
    config_map: Json = {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    pods = [pod(cpu="500m", memory="512Mi"), pod(cpu="1"), pod("Succeeded", cpu="4")]
    assert status_of({PODS: pods, CONFIG_MAPS: [config_map]}).desired == {
        "hard": {**HARD, "requests.cpu": "2"},
        "used": {
            "pods": "2",
            "requests.cpu": "1500m",
            "requests.memory": "512Mi",
            "count/configmaps": "1",
            "requests.nvidia.com/gpu": "0",
        },
    }


def test_without_objects_nothing_is_used() -> None:
    assert set(status_of({}).desired["used"].values()) == {"0"}


def test_a_quota_without_limits_has_an_empty_status() -> None:
    assert status_of({}, spec={}).desired == {}
