"""DNS names of Services and pods, and which names are expected."""

from __future__ import annotations

import pytest

from cluster.node.net.zones import endpoint, service
from shunter.api.core import Service, ServiceSpec
from shunter.api.meta import ObjectMeta
from shunter.cluster.node.net.names import Endpoint, Zone, zone


def test_a_headless_service_resolves_to_its_pods_and_each_pod_to_itself() -> None:
    found = zone([service("job")], [endpoint(2), endpoint(3)])
    assert found.addresses == {
        "job.ns.svc.cluster.local": ("10.1.0.2", "10.1.0.3"),
        "p-2.job.ns.svc.cluster.local": ("10.1.0.2",),
        "p-3.job.ns.svc.cluster.local": ("10.1.0.3",),
    }
    assert found.names["10.1.0.2"] == "p-2.job.ns.svc.cluster.local"


def test_a_pod_without_a_hostname_has_no_name_of_its_own() -> None:
    found = zone([service("job")], [endpoint(2, hostname="")])
    assert found.addresses == {"job.ns.svc.cluster.local": ("10.1.0.2",)}


def alias(name: str, target: str) -> Service:
    return Service(metadata=ObjectMeta(name=name, namespace="ns"), spec=ServiceSpec(type="ExternalName", external_name=target))


def test_an_external_name_is_another_name_for_one_of_the_cluster() -> None:
    api = {"kubernetes.default.svc.cluster.local": "10.1.0.1"}
    other = [alias("again", "other.ns.svc.cluster.local"), alias("other", "JOB.ns.svc.cluster.local.")]
    found = zone([*other, service("job"), alias("api", "kubernetes.default.svc.cluster.local")], [endpoint(2)], api)
    assert found.addresses["other.ns.svc.cluster.local"] == ("10.1.0.2",)
    assert found.addresses["again.ns.svc.cluster.local"] == ("10.1.0.2",)
    assert found.addresses["api.ns.svc.cluster.local"] == ("10.1.0.1",)
    assert "other.ns.svc.cluster.local" in zone([*other, service("job")], []).expected


@pytest.mark.parametrize("target", ["example.com", "self.ns.svc.cluster.local", "none.ns.svc.cluster.local"])
def test_an_external_name_for_anything_else_has_no_address(target: str) -> None:
    found = zone([alias("self", target)], [endpoint(2)])
    assert (found.addresses, found.expected) == ({}, frozenset())


def test_fixed_names_resolve_beside_those_of_services() -> None:
    found = zone([service("job")], [endpoint(2)], {"kubernetes.default.svc.cluster.local": "10.1.0.1"})
    assert found.addresses["kubernetes.default.svc.cluster.local"] == ("10.1.0.1",)
    assert found.addresses["job.ns.svc.cluster.local"] == ("10.1.0.2",)


@pytest.mark.parametrize(
    ("services", "endpoints"),
    [
        pytest.param([service("job")], [endpoint(2, ready=False)], id="not-ready"),
        pytest.param([service("job", not_ready=True)], [endpoint(2, address="")], id="no-address-yet"),
        pytest.param([service("job")], [], id="no-pod-yet"),
    ],
)
def test_a_name_without_an_address_is_expected(services: list[Service], endpoints: list[Endpoint]) -> None:
    found = zone(services, endpoints)
    assert not found.addresses
    assert "job.ns.svc.cluster.local" in found.expected


@pytest.mark.parametrize(
    ("services", "endpoints"),
    [
        pytest.param([service("job")], [endpoint(2, namespace="other")], id="other-namespace"),
        pytest.param([service("job")], [endpoint(2, labels={"job": "k"})], id="not-selected"),
        pytest.param([service("job", selector={})], [endpoint(2)], id="no-selector"),
    ],
)
def test_pods_without_a_name(services: list[Service], endpoints: list[Endpoint]) -> None:
    assert not zone(services, endpoints).addresses


def test_not_ready_addresses_are_published_when_asked_for() -> None:
    assert "p-2.job.ns.svc.cluster.local" in zone([service("job", not_ready=True)], [endpoint(2, ready=False)]).addresses


def test_the_empty_zone_knows_nothing() -> None:
    assert Zone({}, frozenset(), {}) == zone([], [])
