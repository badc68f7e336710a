"""What NetworkPolicies let a pod have."""

from __future__ import annotations

from typing import Any

import pytest

from network_policy_cases import CASES, MASTER_ADDRESS, PORT, PORT_NAME, ROLE, WORKER_ADDRESS
from shunter.api.meta import Json, ObjectMeta
from shunter.api.network_policies import (
    Allowance,
    Limits,
    NamedPort,
    NetworkPod,
    NetworkPolicy,
    World,
    lets_through,
    limits,
    named_ports,
)

DNS = "10.0.0.1"
NAMESPACES = {
    "a": {"kubernetes.io/metadata.name": "a", "team": "red"},
    "b": {"kubernetes.io/metadata.name": "b", "team": "blue"},
    "kube-system": {"kubernetes.io/metadata.name": "kube-system"},
}
WEB = NetworkPod("1", "a", "web", {"app": "web"}, "10.0.0.2", (NamedPort("http", "TCP", 8080), NamedPort("stats", "UDP", 9)))
CLIENT = NetworkPod("2", "a", "client", {"app": "client"}, "10.0.0.3", (NamedPort("http", "TCP", 80),))
OTHER = NetworkPod("3", "b", "other", {"app": "client"}, "10.0.0.4")
WAITING = NetworkPod("4", "a", "waiting", {"app": "client"}, "")
ANY = Allowance()


def policy(namespace: str = "a", **spec: Any) -> NetworkPolicy:
    types = ["Ingress", "Egress"] if "egress" in spec else ["Ingress"]
    spec = {"podSelector": {}, "policyTypes": types, **spec}
    return NetworkPolicy(metadata=ObjectMeta(name="p", namespace=namespace), spec=spec)


def of(pod: NetworkPod, *policies: NetworkPolicy) -> Limits:
    return limits(World(policies, NAMESPACES, [WEB, CLIENT, OTHER, WAITING], DNS))[pod.uid]


def tcp(port: int) -> Allowance:
    return Allowance(protocol="TCP", first=port, last=port)


def at(*addresses: str, **ports: Any) -> Allowance:
    return Allowance(addresses, **ports)


RED = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
BLUE = {"namespaceSelector": {"matchLabels": {"team": "blue"}}}
CLIENTS = {"podSelector": {"matchLabels": {"app": "client"}}}


def test_pods_that_no_policy_selects_have_no_limits() -> None:
    assert of(WEB) == Limits()
    assert of(WEB, policy("b")) == Limits()
    assert of(WEB, policy(podSelector={"matchLabels": {"app": "none"}})) == Limits()


def test_a_pod_without_an_address_is_not_limited_and_named_by_nobody() -> None:
    world = World([policy(ingress=[{"from": [CLIENTS]}])], NAMESPACES, [WEB, WAITING], DNS)
    assert limits(world) == {"1": Limits(ingress=())}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, Limits(ingress=()), id="nothing is let in by default"),
        pytest.param({"policyTypes": ["Egress"]}, Limits(egress=()), id="nothing is let out"),
        pytest.param({"policyTypes": ["Ingress", "Egress"]}, Limits((), ()), id="nothing either way"),
        pytest.param({"egress": [{}]}, Limits((), (ANY,)), id="rules for egress are a type"),
        pytest.param({"ingress": [{}]}, Limits((ANY,)), id="an empty rule is everything"),
        pytest.param({"policyTypes": ["Egress"], "ingress": [{}]}, Limits(egress=()), id="rules of another type are void"),
    ],
)
def test_directions(spec: dict[str, Any], expected: Limits) -> None:
    assert of(WEB, policy(**spec)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"from": []}, [ANY], id="no peers are all"),
        pytest.param({"from": [CLIENTS]}, [at(CLIENT.address)], id="pods of the policy's namespace only"),
        pytest.param({"from": [RED]}, [at(WEB.address, CLIENT.address)], id="all pods of namespaces"),
        pytest.param({"from": [{"namespaceSelector": {}}]}, [at(WEB.address, CLIENT.address, OTHER.address)], id="all pods"),
        pytest.param({"from": [BLUE | CLIENTS]}, [at(OTHER.address)], id="both selectors in one peer are both asked for"),
        pytest.param({"from": [RED | CLIENTS]}, [at(CLIENT.address)], id="both selectors leave the other pods out"),
        pytest.param({"from": [BLUE, CLIENTS]}, [at(CLIENT.address, OTHER.address)], id="two peers are either"),
        pytest.param({"from": [{"podSelector": {"matchLabels": {"app": "none"}}}]}, [], id="nobody is nothing, not all"),
        pytest.param(
            {"from": [{"ipBlock": {"cidr": "10.0.0.0/24", "except": ["10.0.0.4/32"]}}]},
            [Allowance(block="10.0.0.0/24", excepted=("10.0.0.4/32",))],
            id="a block less what is excepted",
        ),
        pytest.param({"from": [{"ipBlock": {"cidr": "2001:db8::/64"}}]}, [], id="a block of IPv6 is nothing to a pod with IPv4"),
        pytest.param({"from": [{"ipBlock": {"cidr": "10.0.0.9/08"}}]}, [Allowance(block="10.0.0.0/8")], id="leading 0s"),
        pytest.param({"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}, [], id="what is no block is nothing"),
        pytest.param({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["x"]}}]}, [], id="an exception that cannot be read"),
        pytest.param(
            {"ports": [{"protocol": "TCP", "port": 80}, {"protocol": "UDP", "port": 1, "endPort": 5}]},
            [tcp(80), ANY._replace(protocol="UDP", first=1, last=5)],
            id="ports and ranges",
        ),
        pytest.param({"ports": [{"protocol": "UDP"}]}, [ANY._replace(protocol="UDP")], id="every port of a protocol"),
        pytest.param({"ports": [{"protocol": "TCP", "port": "http"}]}, [tcp(8080)], id="a name is the selected pod's"),
        pytest.param({"ports": [{"protocol": "UDP", "port": "http"}]}, [], id="a name of another protocol"),
        pytest.param({"ports": [{"protocol": "TCP", "port": "none"}]}, [], id="a name that no container has is no port, not all"),
    ],
)  # fmt: skip
def test_who_may_come_in(rule: dict[str, Any], expected: list[Allowance]) -> None:
    assert of(WEB, policy(ingress=[rule])) == Limits(ingress=tuple(expected))


def test_a_named_port_on_the_way_out_is_that_of_each_pod_it_leads_to() -> None:
    found = of(OTHER, policy("b", egress=[{"to": [RED], "ports": [{"protocol": "TCP", "port": "http"}]}]))
    wanted = (at(WEB.address, protocol="TCP", first=8080, last=8080), at(CLIENT.address, protocol="TCP", first=80, last=80))
    assert found == Limits((), wanted)


def dns(*protocols: str) -> tuple[Allowance, ...]:
    return tuple(at(DNS, protocol=protocol, first=53, last=53) for protocol in protocols)


UDP_53 = {"protocol": "UDP", "port": 53}
SYSTEM = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"to": [{"podSelector": {}}]}, (at(WEB.address, CLIENT.address),), id="own pods are not enough"),
        pytest.param({"to": [SYSTEM]}, dns("UDP", "TCP"), id="its namespace"),
        pytest.param(
            {"to": [SYSTEM | {"podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}], "ports": [UDP_53]},
            dns("UDP"),
            id="as it is usually named",
        ),
        pytest.param({"to": [SYSTEM], "ports": [{"protocol": "TCP", "port": 80}]}, (), id="another port"),
        pytest.param({"to": [SYSTEM], "ports": [{"protocol": "UDP", "port": "dns"}]}, dns("UDP"), id="its port's name"),
        pytest.param({"ports": [UDP_53]}, (ANY._replace(protocol="UDP", first=53, last=53),), id="its port"),
    ],
)  # fmt: skip
def test_dns_is_named_as_on_a_cluster_where_it_is_a_pod(rule: dict[str, Any], expected: tuple[Allowance, ...]) -> None:
    assert of(WEB, policy(egress=[rule])) == Limits((), expected)


def test_policies_add_up_and_say_nothing_twice() -> None:
    one, other = policy(ingress=[{"from": [CLIENTS]}]), policy(ingress=[{"from": [CLIENTS]}, {"from": [BLUE]}])
    assert of(WEB, one, policy(), other) == Limits((at(CLIENT.address), at(OTHER.address)))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_whether_a_worker_may_connect_to_its_master(case: tuple[list[Json], bool]) -> None:
    specs, is_open = case
    master = NetworkPod("m", "a", "master", {ROLE: "master"}, MASTER_ADDRESS, (NamedPort(PORT_NAME, "TCP", PORT),))
    worker = NetworkPod("w", "a", "worker", {ROLE: "worker"}, WORKER_ADDRESS)
    found = limits(World([policy(**spec) for spec in specs], NAMESPACES, [master, worker], DNS))
    comes_in = lets_through(found["m"].ingress, WORKER_ADDRESS, "TCP", PORT)
    goes_out = lets_through(found["w"].egress, MASTER_ADDRESS, "TCP", PORT)
    assert (comes_in and goes_out) is is_open


def test_a_namespace_of_which_the_labels_are_not_known_is_named_by_any_selector() -> None:
    world = World([policy(ingress=[{"from": [BLUE]}])], {"a": None}, [WEB, CLIENT], DNS)
    assert limits(world)["1"] == Limits(ingress=(at(WEB.address, CLIENT.address),))


IPV6_WEB, IPV6_CLIENT = WEB._replace(address="fd00::1"), CLIENT._replace(address="fd00::2")


@pytest.mark.parametrize(
    ("block", "is_open"),
    [
        ({"cidr": "::/0"}, True),
        ({"cidr": "fd00::/64", "except": ["fd00::3/128"]}, True),
        ({"cidr": "fd00::/64", "except": ["fd00::2/128"]}, False),
        ({"cidr": "fd01::/64"}, False),
        ({"cidr": "0.0.0.0/0"}, False),
    ],
    ids=["any", "around it", "from which it is excepted", "without it", "of IPv4"],
)
def test_pods_with_addresses_of_ipv6_are_in_blocks_of_ipv6(block: Json, is_open: bool) -> None:
    for ways in (
        {"ingress": [{"from": [{"ipBlock": block}]}]},
        {"policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": block}]}]},
    ):
        found = limits(World([policy(**ways)], NAMESPACES, [IPV6_WEB, IPV6_CLIENT], DNS))["1"]
        allowances = found.egress if "egress" in ways else found.ingress
        assert lets_through(allowances, "fd00::2", "TCP", 80) is is_open


@pytest.mark.parametrize(
    ("block", "address", "is_open"),
    [
        ({"cidr": "x"}, CLIENT.address, True),
        ({"cidr": "10.0.0.0/8", "except": ["x"]}, CLIENT.address, True),
        ({"cidr": "10.0.0.0/8", "except": ["x", "10.0.0.3/32"]}, CLIENT.address, False),
        ({"cidr": "10.0.0.0/8", "except": ["x"]}, "192.168.0.1", False),
    ],
    ids=["a block", "an exception", "beside one that can be read", "of a block that the address is not in"],
)
def test_what_cannot_be_read_is_open_for_who_asks_so_and_closed_for_others(block: Json, address: str, is_open: bool) -> None:
    world = World([policy(ingress=[{"from": [{"ipBlock": block}]}])], NAMESPACES, [WEB, CLIENT], DNS)
    assert not lets_through(limits(world)["1"].ingress, address, "TCP", 80)
    assert lets_through(limits(world._replace(opens_unreadable=True))["1"].ingress, address, "TCP", 80) is is_open


def test_ports_with_names_are_those_of_containers_that_go_on_running() -> None:
    def container(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "ports": [{"name": name, "containerPort": 1, "protocol": "TCP"}, {"containerPort": 2}], **more}

    spec = {"initContainers": [container("init"), container("side", restartPolicy="Always")], "containers": [container("main")]}
    assert [port.name for port in named_ports(spec)] == ["main", "side"]
