"""Services: addresses and node ports that are given out, and what goes when a Service changes its type.

Source: Kubernetes 1.36 `registry/core/service` (`alloc.go`, `dropTypeDependentFields`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin import services

Write = Callable[..., Any]


def service(name: str = "s", **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def made(write: Write, *stored: Json, **spec: Any) -> Json:
    """One that was created, beside others that are stored."""
    answer = write(service(**spec), stored=stored)
    assert answer.code == 201, answer.message
    found: Json = answer.object
    return found


def other(write: Write, **spec: Any) -> Json:
    """One of another name and uid."""
    found = made(write, **spec)
    found["metadata"] |= {"name": "other", "uid": "other"}
    return found


def changed(write: Write, old: Json, *stored: Json, **spec: Any) -> Any:
    """The answer to a patch of the spec: what is not named stays, as the very objects that are stored."""
    before = copy.deepcopy(old)
    answer = write({**old, "spec": {**old["spec"], **spec}}, old, stored=(old, *stored))
    assert old == before, "what is stored is not altered"
    return answer


def node_ports(found: Json) -> list[int | None]:
    return [port.get("nodePort") for port in found["spec"]["ports"]]


def test_addresses_and_node_ports_are_given_out_once(write: Write) -> None:
    first = other(write, type="NodePort")
    second = made(write, first, type="NodePort")
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert node_ports(first) != node_ports(second)
    assert 30000 <= node_ports(second)[0] <= 32767  # type: ignore[operator]


class Unread:
    """Objects of which none may be looked at."""

    def get(self, *_: object) -> Json | None:
        raise AssertionError("looked at another object")

    def all(self, *_: object) -> list[Json]:
        raise AssertionError("looked at all Services")


def test_a_service_that_asks_for_nothing_new_is_compared_with_no_other(write: Write) -> None:
    """Each of 10,000 jobs has headless Services: reading all Services for each would take the square of that."""
    kind = services.kind()
    headless, exposed = made(write, clusterIP="None"), made(write, type="NodePort")
    for look in (kind.review, kind.allocate):
        look(headless, None, Unread())
        look(exposed, exposed, Unread())
        with pytest.raises(AssertionError, match="all Services"):
            look(exposed, None, Unread())


def test_an_address_that_another_service_has_is_refused(write: Write) -> None:
    taken = other(write, clusterIP="10.96.0.77")
    answer = write(service(clusterIP="10.96.0.77"), stored=[taken])
    assert answer.code == 422
    assert answer.message == (
        'Service "s" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.77"]: '
        "failed to allocate IP 10.96.0.77: provided IP is already allocated"
    )
    assert write(service(clusterIP="10.96.0.78"), stored=[taken]).code == 201
    headless = other(write, clusterIP="None")
    assert write(service(clusterIP="None"), stored=[headless]).code == 201, "no address is no one's"


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_node_port_that_another_service_has_is_refused(write: Write, protocol: str) -> None:
    taken = other(write, type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2, "nodePort": 30080, "protocol": protocol}]
    answer = write(service(type="NodePort", ports=ports), stored=[taken])
    assert answer.code == 422
    assert "spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated" in answer.message


def test_a_service_keeps_its_own(write: Write) -> None:
    old = made(write, type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    answer = changed(write, old, selector={"a": "b"})
    assert (answer.code, node_ports(answer.object)) == (200, [30080])
    moved = changed(write, old, ports=[{"port": 81, "nodePort": 30080, "protocol": "TCP", "targetPort": 81}])
    assert (moved.code, node_ports(moved.object)) == (200, [30080])


def test_ports_of_one_number_share_a_node_port(write: Write) -> None:
    """As those of a DNS server."""
    pair = [{"name": "tcp", "port": 53}, {"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "other", "port": 54}]
    tcp, udp, rest = node_ports(made(write, type="NodePort", ports=pair))
    assert tcp == udp != rest
    asked = [pair[0], {**pair[1], "nodePort": 30053}]
    assert node_ports(made(write, type="NodePort", ports=asked)) == [30053, 30053]


@pytest.mark.parametrize("number", [0, None])
def test_a_node_port_of_zero_is_none(write: Write, number: int | None) -> None:
    [port] = node_ports(made(write, type="NodePort", ports=[{"port": 80, "nodePort": number}]))
    assert port in range(30000, 32768)


@pytest.mark.parametrize("type", ["NodePort", "LoadBalancer"])
def test_a_service_that_becomes_internal_loses_what_only_others_have(write: Write, type: str) -> None:
    """`kubectl patch service s -p '{"spec": {"type": "ClusterIP"}}'`."""
    old = made(write, type=type, externalTrafficPolicy="Local")
    answer = changed(write, old, type="ClusterIP")
    assert answer.code == 200, answer.message
    spec = answer.object["spec"]
    assert node_ports(answer.object) == [None]
    assert {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & spec.keys() == set()
    assert spec["clusterIP"] == old["spec"]["clusterIP"]


def test_a_load_balancer_that_becomes_internal_loses_its_addresses(write: Write) -> None:
    old = made(write, type="LoadBalancer")
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}, "conditions": []}
    answer = changed(write, old, type="ClusterIP")
    assert answer.object["status"] == {"loadBalancer": {}, "conditions": []}
    assert changed(write, old, selector={"a": "b"}).object["status"] == old["status"]


def test_a_service_that_becomes_a_name_loses_its_address(write: Write) -> None:
    answer = changed(write, made(write), type="ExternalName", externalName="db.example.org")
    assert answer.code == 200, answer.message
    assert {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & answer.object["spec"].keys() == set()
    back = changed(write, answer.object, type="ClusterIP")
    assert (back.code, back.object["spec"]["clusterIP"][:6]) == (200, "10.96.")


def test_what_is_written_anew_with_another_type_is_refused(write: Write) -> None:
    old = made(write, type="NodePort")
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 31999}]
    assert "spec.ports[0].nodePort: Forbidden" in changed(write, old, type="ClusterIP", ports=ports).message
    assert "spec.externalTrafficPolicy" in changed(write, old, type="ClusterIP", externalTrafficPolicy="Local").message
    name: Json = {"type": "ExternalName", "externalName": "a.b"}
    assert changed(write, old, **name, clusterIP="10.96.0.99", clusterIPs=["10.96.0.99"]).code == 422


def test_an_address_outside_of_the_range_is_refused(write: Write) -> None:
    answer = write(service(clusterIP="10.97.0.1"))
    assert answer.code == 422
    assert "the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16" in answer.message
