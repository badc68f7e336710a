"""Which traffic NetworkPolicies let a pod have: policies, namespaces and pods in, what each pod may send and receive out. Pure.

Source: networking.k8s.io/v1 of Kubernetes 1.36, with the defaults that every API server fills in. A pod that no policy selects
for a direction has no limits in it; one that some select has what any of them allows. Pods on the network of the machine are
neither selected nor named by selectors, and those that have ended have no traffic: who builds a World gives them no address.
The embedded cluster enforces this, and `shunter doctor` asks it whether a policy separates the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from shunter.api.formats import cidr
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.selectors import selects

DNS_NAMESPACE = "kube-system"
DNS_LABELS = {"k8s-app": "kube-dns"}
DNS_PORT = 53
_ANY_PORT: tuple[Json, ...] = ({},)
_DNS_PORTS = (("dns", "UDP"), ("dns-tcp", "TCP"))


class NetworkPolicy(Struct, frozen=True):
    """The spec as the API server gives it: with `policyTypes` filled in."""

    metadata: ObjectMeta
    spec: Json = {}


class NamedPort(NamedTuple):
    """A port that a container declares."""

    name: str
    protocol: str
    number: int


class NetworkPod(NamedTuple):
    """What policies know of a pod; `address` is empty until it has one."""

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    address: str
    ports: tuple[NamedPort, ...] = ()


class Allowance(NamedTuple):
    """Traffic that may be: with `addresses` (None: any), or a `block` without the `excepted` ones, of a protocol (empty: any) to
    ports from `first` to `last` (0: any)."""

    addresses: tuple[str, ...] | None = None
    block: str = ""
    excepted: tuple[str, ...] = ()
    protocol: str = ""
    first: int = 0
    last: int = 0


class Limits(NamedTuple):
    """All that a pod may receive and send; None where it has no limits."""

    ingress: tuple[Allowance, ...] | None = None
    egress: tuple[Allowance, ...] | None = None


class World(NamedTuple):
    """What policies are about. `namespaces` has the labels of each, None where they are not known: any selector then names it.
    `name_server` is the address of the cluster's DNS. `opens_unreadable` says whether what cannot be read of a block of addresses
    counts as open, for who must not call a port closed that is not, or as closed, for who enforces."""

    policies: Sequence[NetworkPolicy]
    namespaces: Mapping[str, Mapping[str, str] | None]
    pods: Sequence[NetworkPod]
    name_server: str
    opens_unreadable: bool = False


def limits(world: World) -> dict[str, Limits]:
    """Returns the limits of each pod that has an address, by the pod's uid."""
    return {pod.uid: _limits(pod, world) for pod in world.pods if pod.address}


def lets_through(allowances: Iterable[Allowance] | None, address: str, protocol: str, port: int) -> bool:
    """Whether a side of a pod's limits allows traffic with the address at the port; where it has no limits it does."""
    return allowances is None or any(_allows(one, address, protocol, port) for one in allowances)


def selecting(policies: Iterable[NetworkPolicy], pod: NetworkPod) -> list[NetworkPolicy]:
    """The policies that select the pod."""
    own = (policy for policy in policies if policy.metadata.namespace == pod.namespace)
    return [policy for policy in own if selects(policy.spec.get("podSelector") or {}, pod.labels)]


def named_ports(spec: Json) -> tuple[NamedPort, ...]:
    """The named ports of a pod's containers and sidecars."""
    sidecars = (one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always")
    ports = (port for container in (*spec["containers"], *sidecars) for port in container.get("ports") or ())
    return tuple(NamedPort(port["name"], port["protocol"], port["containerPort"]) for port in ports if port.get("name"))


def _limits(pod: NetworkPod, world: World) -> Limits:
    found = selecting(world.policies, pod)
    ingress = [policy for policy in found if "Ingress" in policy.spec["policyTypes"]]
    egress = [policy for policy in found if "Egress" in policy.spec["policyTypes"]]
    return Limits(
        ingress=tuple(_distinct(one for policy in ingress for one in _ingress(policy, pod, world))) if ingress else None,
        egress=tuple(_distinct(one for policy in egress for one in _egress(policy, pod, world))) if egress else None,
    )


def _allows(one: Allowance, address: str, protocol: str, port: int) -> bool:
    if one.protocol not in ("", protocol) or (one.last and not one.first <= port <= one.last):
        return False
    if one.block:
        place = ip_address(address)
        return place in ip_network(one.block) and not any(place in ip_network(but) for but in one.excepted)
    return one.addresses is None or address in one.addresses


def _distinct(allowances: Iterable[Allowance]) -> Iterable[Allowance]:
    return dict.fromkeys(allowances)


def _ingress(policy: NetworkPolicy, pod: NetworkPod, world: World) -> Iterable[Allowance]:
    """Names of ports are those of the pod that the policy selects."""
    for rule in policy.spec.get("ingress") or ():
        for where in _places(policy, rule.get("from") or (), pod, world):
            for port in rule.get("ports") or _ANY_PORT:
                yield from _at_ports(where, port, pod.ports)


def _egress(policy: NetworkPolicy, pod: NetworkPod, world: World) -> Iterable[Allowance]:
    """Names of ports are those of the pods that traffic goes to, so each of these has its own."""
    for rule in policy.spec.get("egress") or ():
        peers = rule.get("to") or ()
        for port in rule.get("ports") or _ANY_PORT:
            is_named = isinstance(port.get("port"), str)
            if is_named:
                for other in _pods(policy, peers, world):
                    yield from _at_ports(Allowance((other.address,)), port, other.ports)
            else:
                for where in _places(policy, peers, pod, world):
                    yield from _at_ports(where, port, ())
            if any(_names_dns(policy, peer, world) for peer in peers) or (is_named and not peers):
                yield from _dns(port, world.name_server)


def _places(policy: NetworkPolicy, peers: Sequence[Json], pod: NetworkPod, world: World) -> Iterable[Allowance]:
    """Where traffic of the pod may come from or go to, at any port: without peers, anywhere."""
    if not peers:
        yield Allowance()
        return
    for peer in peers:
        if block := peer.get("ipBlock"):
            yield from _of_block(block, pod, world)
    if addresses := tuple(sorted({pod.address for pod in _pods(policy, peers, world)})):
        yield Allowance(addresses)


def _of_block(written: Json, pod: NetworkPod, world: World) -> Iterable[Allowance]:
    """Nothing of another IP family than that of the pod's address: no such traffic is the pod's."""
    whole, *excepted = (cidr.block(text) for text in (written["cidr"], *(written.get("except") or ())))
    if whole is None:
        if world.opens_unreadable:
            yield Allowance()
        return
    readable = [one for one in excepted if one is not None and one.version == whole.version]
    if whole.version == ip_address(pod.address).version and (world.opens_unreadable or len(readable) == len(excepted)):
        yield Allowance(block=str(whole), excepted=tuple(map(str, readable)))


def _pods(policy: NetworkPolicy, peers: Sequence[Json], world: World) -> Iterable[NetworkPod]:
    """Pods with an address that a peer names; without peers, all of them."""
    for pod in world.pods:
        labels = world.namespaces.get(pod.namespace, {})
        if pod.address and (not peers or any(_names(policy, peer, pod.namespace, labels, pod.labels) for peer in peers)):
            yield pod


def _names(
    policy: NetworkPolicy, peer: Json, namespace: str, labels: Mapping[str, str] | None, pod_labels: Mapping[str, str]
) -> bool:
    if peer.get("ipBlock"):
        return False
    namespaces, pods = peer.get("namespaceSelector"), peer.get("podSelector")
    is_own = namespace == policy.metadata.namespace
    in_namespace = is_own if namespaces is None else labels is None or selects(namespaces, labels)
    return in_namespace and selects(pods or {}, pod_labels)


def _names_dns(policy: NetworkPolicy, peer: Json, world: World) -> bool:
    """DNS is no pod here, but policies name it as they do on a cluster where it is one."""
    return _names(policy, peer, DNS_NAMESPACE, world.namespaces.get(DNS_NAMESPACE, {}), DNS_LABELS)


def _dns(port: Json, address: str) -> Iterable[Allowance]:
    for name, protocol in _DNS_PORTS:
        wanted = port.get("port")
        is_meant = wanted in (None, name) or (isinstance(wanted, int) and wanted <= DNS_PORT <= port.get("endPort", wanted))
        if is_meant and (not port or port["protocol"] == protocol):
            yield Allowance((address,), protocol=protocol, first=DNS_PORT, last=DNS_PORT)


def _at_ports(where: Allowance, port: Json, named: Iterable[NamedPort]) -> Iterable[Allowance]:
    """A name that no container declares for the protocol stands for no port."""
    wanted, protocol = port.get("port"), port["protocol"] if port else ""
    match wanted:
        case None:
            yield where._replace(protocol=protocol)
        case int():
            yield where._replace(protocol=protocol, first=wanted, last=port.get("endPort", wanted))
        case _:
            for one in named:
                if (one.name, one.protocol) == (wanted, protocol):
                    yield where._replace(protocol=protocol, first=one.number, last=one.number)
