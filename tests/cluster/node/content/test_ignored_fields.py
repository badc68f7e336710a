"""A pod that asks for what the node does not do gets an event that says so."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.node.content.ignored_fields import ignored


def said(spec: Any, **node: bool) -> list[tuple[str, str]]:
    return list(ignored(spec, **{"switches_users": True, "has_namespaces": True, **node}))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"hostPID": True}, "spec.hostPID"),
        ({"hostIPC": True}, "spec.hostIPC"),
        ({"shareProcessNamespace": True}, "spec.shareProcessNamespace"),
        ({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]}, "hostPort (8080 of the machine"),
    ],
)
def test_what_containers_with_their_own_namespaces_do_not_get(spec: Any, field: str) -> None:
    ((reason, message),) = said(spec)
    assert reason == "FieldsIgnored"
    assert field in message
    assert said(spec, has_namespaces=False) == []


def test_sysctls_are_never_set() -> None:
    spec = {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}}
    for has_namespaces in (True, False):
        ((_, message),) = said(spec, has_namespaces=has_namespaces)
        assert "kernel.shm_rmid_forced" in message


def test_nothing_is_said_of_a_pod_that_gets_all_that_it_asks_for() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    assert said({"hostNetwork": True, "containers": [{"name": "c", "ports": ports}]}) == []
    assert said({"hostPID": False, "securityContext": {"runAsUser": 1}, "containers": [{"name": "c"}]}) == []


def test_users_are_ignored_by_a_node_that_cannot_switch_to_them() -> None:
    ((reason, _),) = said({"securityContext": {"runAsUser": 1}, "containers": [{"name": "c"}]}, switches_users=False)
    assert reason == "UserIgnored"
