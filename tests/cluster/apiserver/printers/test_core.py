"""What `kubectl get` shows of nodes, events, quotas and bindings, as kube-apiserver 1.36 writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.printers.core import PRINTERS

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def cells(group: str, kind: str, metadata: Json | None = None, **parts: Any) -> dict[str, Any]:
    printer = PRINTERS[group, kind]
    document = {"metadata": {"name": "x", "creationTimestamp": "2026-11-21T11:00:00Z", **(metadata or {})}, **parts}
    return dict(zip((one.name for one in printer.columns), printer.cells(document, NOW), strict=True))


@pytest.mark.parametrize(
    ("spec", "conditions", "status"),
    [
        pytest.param({}, [], "Unknown", id="no condition"),
        pytest.param({}, [{"type": "Ready", "status": "True"}], "Ready", id="ready"),
        pytest.param({}, [{"type": "Ready", "status": "Unknown"}], "NotReady", id="a condition that is unknown"),
        pytest.param({}, [{"type": "DiskPressure", "status": "True"}], "Unknown", id="another condition"),
        pytest.param({"unschedulable": True}, [{"type": "Ready", "status": "True"}], "Ready,SchedulingDisabled", id="cordoned"),
    ],
)
def test_a_node_shows_whether_it_takes_pods(spec: Json, conditions: list[Json], status: str) -> None:
    assert cells("", "Node", spec=spec, status={"conditions": conditions})["Status"] == status


@pytest.mark.parametrize(
    ("labels", "roles"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "true"}, "control-plane,worker"),
        ({"kubernetes.io/role": "gpu", "node-role.kubernetes.io/": ""}, "gpu"),
        ({"kubernetes.io/role": ""}, "<none>"),
    ],
    ids=["none", "by keys, in order", "by a value", "an empty value"],
)
def test_a_node_shows_its_roles(labels: dict[str, str], roles: str) -> None:
    assert cells("", "Node", {"labels": labels})["Roles"] == roles


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        pytest.param(
            {"firstTimestamp": "2026-11-21T11:50:00Z", "lastTimestamp": "2026-11-21T11:59:00Z", "count": 3},
            ("60s", "10m", 3),
            id="counted",
        ),
        pytest.param({"eventTime": "2026-11-21T11:59:30.000000Z"}, ("30s", "30s", 1), id="of the newer API"),
        pytest.param(
            {
                "eventTime": "2026-11-21T11:50:00.000000Z",
                "series": {"count": 7, "lastObservedTime": "2026-11-21T11:59:50.000000Z"},
            },
            ("10s", "10m", 7),
            id="a series",
        ),
        pytest.param({}, ("<unknown>", "<unknown>", 1), id="no time at all"),
    ],
)
def test_an_event_shows_when_and_how_often(parts: Json, shown: tuple[str, str, int]) -> None:
    row = cells("", "Event", involvedObject={"kind": "Pod", "name": "p"}, **parts)
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == shown
    assert row["Object"] == "pod/p"


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        pytest.param({"source": {"component": "kubelet", "host": "n"}}, "kubelet, n", id="with its host"),
        pytest.param({"source": {"component": "kubelet"}}, "kubelet", id="without"),
        pytest.param({"reportingComponent": "c", "reportingInstance": "i"}, "c, i", id="of the newer API"),
        pytest.param({}, "", id="nobody"),
    ],
)
def test_an_event_shows_who_reports_it(parts: Json, source: str) -> None:
    assert cells("", "Event", **parts)["Source"] == source


def test_a_quota_shows_limits_apart_from_requests_in_the_order_of_names() -> None:
    hard = {"requests.cpu": "4", "limits.memory": "8Gi", "pods": "10", "limits.cpu": "8"}
    row = cells("", "ResourceQuota", status={"hard": hard, "used": {"pods": "3"}})
    assert row["Request"] == "pods: 3/10, requests.cpu: 0/4"
    assert row["Limit"] == "limits.cpu: 0/8, limits.memory: 0/8Gi"


def test_a_binding_shows_its_subjects_by_kind() -> None:
    subjects = [
        {"kind": "ServiceAccount", "namespace": "n", "name": "a"},
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "Group", "name": "g"},
    ]
    row = cells("rbac.authorization.k8s.io", "RoleBinding", roleRef={"kind": "Role", "name": "r"}, subjects=subjects)
    assert (row["Role"], row["Users"], row["Groups"], row["ServiceAccounts"]) == ("Role/r", "u, v", "g", "n/a")


@pytest.mark.parametrize(
    ("parts", "count"),
    [({}, 0), ({"data": {"a": ""}, "binaryData": {"b": ""}}, 2), ({"data": None}, 0)],
    ids=["none", "both", "null"],
)
def test_a_config_map_counts_all_its_keys(parts: Json, count: int) -> None:
    assert cells("", "ConfigMap", **parts)["Data"] == count
