"""What `kubectl get` shows of services, endpoints and ingresses, as kube-apiserver 1.36 writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.printers.network import PRINTERS

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def cells(group: str, kind: str, metadata: Json | None = None, **parts: Any) -> dict[str, Any]:
    printer = PRINTERS[group, kind]
    document = {"metadata": {"name": "x", "creationTimestamp": "2026-11-21T11:00:00Z", **(metadata or {})}, **parts}
    return dict(zip((one.name for one in printer.columns), printer.cells(document, NOW), strict=True))


def balanced(*entries: Json) -> Json:
    return {"loadBalancer": {"ingress": list(entries)}}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        pytest.param({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"]}, {}, ("10.0.0.1", "<none>", "<none>"), id="without ports"),
        pytest.param({"type": "ClusterIP", "clusterIPs": ["None"]}, {}, ("None", "<none>", "<none>"), id="headless"),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
            {},
            ("<none>", "<none>", "80:30080/TCP,53/UDP"),
            id="a node port",
        ),
        pytest.param(
            {"type": "ClusterIP", "externalIPs": ["1.2.3.4", "1.2.3.5"]},
            {},
            ("<none>", "1.2.3.4,1.2.3.5", "<none>"),
            id="external IPs",
        ),
        pytest.param({"type": "LoadBalancer"}, {}, ("<none>", "<pending>", "<none>"), id="a balancer without an address yet"),
        pytest.param(
            {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            balanced({"ip": "5.5.5.5"}, {"hostname": "lb.example"}, {"ip": "5.5.5.5"}, {"ip": "10.1.1.1"}, {}),
            ("<none>", "10.1.1.1,5.5.5.5,lb.example,9.9.9.9", "<none>"),
            id="addresses of a balancer in order, each once, before external IPs",
        ),
        pytest.param(
            {"type": "ExternalName", "externalName": "db.example"}, {}, ("<none>", "db.example", "<none>"), id="another name"
        ),
        pytest.param({"type": "Later"}, {}, ("<none>", "<unknown>", "<none>"), id="a type of a later release"),
    ],
)
def test_a_service_shows_where_it_is_reached(spec: Json, status: Json, shown: tuple[str, ...]) -> None:
    row = cells("", "Service", spec=spec, status=status)
    assert (row["Cluster-IP"], row["External-IP"], row["Port(s)"]) == shown


@pytest.mark.parametrize(
    ("subsets", "shown"),
    [
        pytest.param(None, "<none>", id="nothing"),
        pytest.param([{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}], "", id="no ready address"),
        pytest.param([{"addresses": [{"ip": "10.0.0.1"}]}], "10.0.0.1", id="without ports"),
        pytest.param(
            [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}, {"port": 81}]}],
            "10.0.0.1:80,10.0.0.1:81",
            id="two ports",
        ),
        pytest.param([{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}], "[fd00::1]:80", id="IPv6 with a port"),
        pytest.param([{"addresses": [{"ip": "fd00::1"}]}], "fd00::1", id="IPv6 without a port"),
        pytest.param(
            [{"addresses": [{"ip": f"10.0.0.{n}"} for n in range(1, 6)], "ports": [{"port": 80}]}],
            "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...",
            id="more than three",
        ),
    ],
)
def test_endpoints_show_addresses_with_ports(subsets: list[Json] | None, shown: str) -> None:
    assert cells("", "Endpoints", subsets=subsets)["Endpoints"] == shown


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        pytest.param({}, ("<unset>", "<unset>"), id="nothing"),
        pytest.param({"ports": [{"port": 80}, {"name": "http"}, {}]}, ("80,http,*", "<unset>"), id="a number, a name, any port"),
        pytest.param(
            {"ports": [{"port": n} for n in range(1, 6)], "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}]},
            ("1,2,3 + 2 more...", "a,b,c + 1 more..."),
            id="more than three",
        ),
    ],
)
def test_an_endpoint_slice_shows_three_of_each(parts: Json, shown: tuple[str, str]) -> None:
    row = cells("discovery.k8s.io", "EndpointSlice", addressType="IPv4", **parts)
    assert (row["Ports"], row["Endpoints"]) == shown


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        pytest.param({}, {}, ("<none>", "*", "", "80"), id="nothing"),
        pytest.param(
            {"ingressClassName": "nginx", "rules": [{"host": "a"}, {}, {"host": "b"}], "tls": [{}]},
            balanced({"hostname": "z"}, {"ip": "1.1.1.1"}),
            ("nginx", "a,b", "1.1.1.1,z", "80, 443"),
            id="a rule without a host is not shown",
        ),
    ],
)
def test_an_ingress_shows_hosts_and_addresses(spec: Json, status: Json, shown: tuple[str, ...]) -> None:
    row = cells("networking.k8s.io", "Ingress", spec=spec, status=status)
    assert (row["Class"], row["Hosts"], row["Address"], row["Ports"]) == shown


@pytest.mark.parametrize(("value", "name"), [("true", "x (default)"), ("false", "x"), ("", "x")])
def test_the_default_ingress_class_is_marked(value: str, name: str) -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": value}
    assert cells("networking.k8s.io", "IngressClass", {"annotations": annotations}, spec={"controller": "c"})["Name"] == name
