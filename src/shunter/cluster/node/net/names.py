"""Which names resolve to which addresses: Services and pods in, DNS zone out. Pure.

Source: the Kubernetes DNS specification for headless Services. A pod is `hostname.service.namespace.svc.cluster.local` when its
subdomain names the Service; the Service itself resolves to all its pods. A pod that is not ready has no name, unless the
Service publishes not ready addresses. A Service of type ExternalName has the addresses of the name that it stands for, if that is
one of the cluster: pods reach nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shunter.api.core import Service

CLUSTER_DOMAIN = "cluster.local"
EXTERNAL_NAME = "ExternalName"
_LONGEST_CHAIN = 8
"""Of names for names: two may stand for each other."""


class Endpoint(NamedTuple):
    """What a pod that has not ended contributes to the zone. `address` is empty until it has one."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    hostname: str
    subdomain: str
    address: str
    ready: bool


class Zone(NamedTuple):
    """`addresses`: what every name resolves to. `expected`: names without an address that pods are about to get."""

    addresses: Mapping[str, tuple[str, ...]]
    expected: frozenset[str]
    names: Mapping[str, str]
    """Address -> name, for reverse look-ups."""


EMPTY = Zone({}, frozenset(), {})


def zone(services: Iterable[Service], endpoints: Iterable[Endpoint], fixed: Mapping[str, str] = {}) -> Zone:
    """The zone of all Services with a selector, of those that are other names for such, and of `fixed` names; a Service without
    pods is expected to get some."""
    services = tuple(services)
    labelled = _by_label(endpoints)
    addresses: dict[str, list[str]] = {name: [address] for name, address in fixed.items()}
    expected: set[str] = set()
    reverse: dict[str, str] = {}
    for service in services:
        if not service.spec.selector or service.spec.type == EXTERNAL_NAME:
            continue
        suffix = service_name(service.metadata.name, service.metadata.namespace)
        expected.add(suffix)
        for endpoint in _selected(service, labelled):
            names = [suffix]
            if endpoint.subdomain == service.metadata.name and endpoint.hostname:
                names.insert(0, f"{endpoint.hostname}.{suffix}")
            published = endpoint.ready or service.spec.publish_not_ready_addresses
            if endpoint.address and published:
                reverse.setdefault(endpoint.address, names[0])
                for name in names:
                    addresses.setdefault(name, []).append(endpoint.address)
            else:
                expected.update(names)
    for name, target in aliases(services).items():
        if target in addresses:
            addresses[name] = addresses[target]
        elif target in expected:
            expected.add(name)
    return Zone(
        {name: tuple(sorted(found)) for name, found in addresses.items()},
        frozenset(expected - addresses.keys()),
        reverse,
    )


def aliases(services: Iterable[Service]) -> dict[str, str]:
    """The name that each Service of the type ExternalName stands for in the end, by its own; both are full names."""
    named = {
        service_name(service.metadata.name, service.metadata.namespace): service.spec.external_name.lower().removesuffix(".")
        for service in services
        if service.spec.type == EXTERNAL_NAME
    }
    for name in named:
        for _ in range(_LONGEST_CHAIN):
            named[name] = named.get(named[name], named[name])
    return named


def service_name(service: str, namespace: str) -> str:
    """`web.default.svc.cluster.local`."""
    return f"{service}.{namespace}.svc.{CLUSTER_DOMAIN}"


def search_domains(namespace: str) -> tuple[str, ...]:
    """The search list of a pod's resolv.conf (dnsPolicy ClusterFirst)."""
    return (f"{namespace}.svc.{CLUSTER_DOMAIN}", f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN)


_Labelled = Mapping[tuple[str, str, str], Sequence[Endpoint]]
"""Pods by namespace, and key and value of each of their labels: looking at all pods for each Service would be a square."""


def _by_label(endpoints: Iterable[Endpoint]) -> _Labelled:
    labelled: dict[tuple[str, str, str], list[Endpoint]] = {}
    for endpoint in endpoints:
        for key, value in endpoint.labels.items():
            labelled.setdefault((endpoint.namespace, key, value), []).append(endpoint)
    return labelled


def _selected(service: Service, labelled: _Labelled) -> Iterable[Endpoint]:
    selector = service.spec.selector.items()
    fewest = min((labelled.get((service.metadata.namespace, *label), ()) for label in selector), key=len)
    return (endpoint for endpoint in fewest if selector <= endpoint.labels.items())
