"""Level `plain`: pods share one machine's network and files, so what their specs say about addresses, ports and paths is
replaced by what is true. Pure.

Every name of a pod becomes 127.0.0.1. A port stays the same port for everyone who means the same pod: `port_of` is asked with
the pod's key, for every client. Paths below a mountPath become paths in the volume's directory. Files that a program opens by a
name of its own making cannot be reached this way: that is the limit of the level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from shunter.api.core import Service
from shunter.cluster.node.content.mounts import Mount
from shunter.cluster.node.net.names import CLUSTER_DOMAIN, EXTERNAL_NAME, Endpoint, aliases
from shunter.cluster.node.runtime.protocol import HostPort

LOOPBACK = "127.0.0.1"

# What follows a single slash is part of a path, what follows two is the host of an address.
_HOST_PORT = re.compile(r"(?<![\w.\-])(?<![^/]/)(?<!\A/)([A-Za-z0-9][A-Za-z0-9.\-]*[A-Za-z0-9])(?::(\d{1,5}))?(?![\w\-])")
_PORT_NAME = re.compile(r"(.*?)_?PORT")
_ADDRESS_SUFFIXES = ("ADDR", "HOST", "ADDRESS")
_LOCAL = ("localhost", LOOPBACK)


class Directory(NamedTuple):
    """The names of one namespace: what the names in a pod's settings are looked up in."""

    namespace: str
    services: Mapping[str, str]
    """Service -> key of the pod it stands for."""
    subdomains: frozenset[str]
    """Services whose pods are `HOST.SERVICE`; a pod's own subdomain counts before its Service is seen."""
    aliases: Mapping[str, str] = {}
    """Service that is another name (ExternalName) for one of the namespace -> key of the pod that this means."""

    def key(self, name: str) -> str:
        """The key of the pod a DNS name means; empty for names that are not the cluster's."""
        parts = name.lower().removesuffix(f".{CLUSTER_DOMAIN}").removesuffix(".svc").split(".")
        known = (*self.services, *self.subdomains, *self.aliases)
        if len(parts) > 1 and parts[-1] == self.namespace and parts[-2] in known:
            parts.pop()
        match parts:
            case [service]:
                return self.services.get(service) or self.aliases.get(service, "")
            case [host, service] if service in self.subdomains or service in self.services:
                return f"{host}.{service}"
        return ""


class Substitution(NamedTuple):
    """What is replaced for one container."""

    directory: Directory
    own_key: str
    mounts: tuple[Mount, ...]
    port_of: Callable[[str, int], int]
    """(pod key, port) -> the port of this machine that stands for it."""
    external_services: Mapping[tuple[str, int], HostPort] = {}
    """What pods reach outside of the cluster: name and port, and where that really is."""


def directory(namespace: str, services: Iterable[Service], endpoints: Iterable[Endpoint], subdomain: str) -> Directory:
    """The names of one namespace. A Service of the type ExternalName that stands for a name of another has none."""
    services = tuple(services)
    pods = [endpoint for endpoint in endpoints if endpoint.namespace == namespace]
    keys = {}
    for service in services:
        if service.metadata.namespace != namespace or not service.spec.selector or service.spec.type == EXTERNAL_NAME:
            continue
        selected = [pod for pod in pods if all(pod.labels.get(k) == v for k, v in service.spec.selector.items())]
        keys[service.metadata.name] = endpoint_key(selected[0]) if len(selected) == 1 else service.metadata.name
    subdomains = {pod.subdomain for pod in pods if pod.subdomain} | ({subdomain} if subdomain else set())
    found = Directory(namespace, keys, frozenset(subdomains))
    own = f".{namespace}.svc.{CLUSTER_DOMAIN}"
    targets = {name.removesuffix(own): target for name, target in aliases(services).items() if name.endswith(own)}
    meant = {name: found.key(target) for name, target in targets.items() if target.endswith(own)}
    return found._replace(aliases={name: key for name, key in meant.items() if key})


def endpoint_key(endpoint: Endpoint) -> str:
    """The one name a pod goes by in port bookkeeping: `hostname.subdomain`, else its own name."""
    return f"{endpoint.hostname}.{endpoint.subdomain}" if endpoint.hostname and endpoint.subdomain else endpoint.name


def substituted_environment(declared: Mapping[str, str], substitution: Substitution) -> dict[str, str]:
    """The declared environment with names, `name:port` pairs, paths, and every `X_PORT` that belongs to an `X_ADDR` replaced."""
    result = {}
    for name, value in declared.items():
        key = _owner_of_port(name, declared, substitution)
        if key and value.isdecimal():
            result[name] = str(substitution.port_of(key, int(value)))
        elif _is_address(name) and _key_of_address(value, substitution):
            result[name] = LOOPBACK
        else:
            result[name] = substituted(value, substitution)
    return result


def substituted(text: str, substitution: Substitution) -> str:
    """A command, argument or value with the cluster's names and the container's mount paths replaced."""

    def replacement(match: re.Match[str]) -> str:
        name, port = match[1], match[2]
        if port and (target := substitution.external_services.get((name, int(port)))):
            return f"{target.host}:{target.port}"
        key = substitution.directory.key(name)
        # A Service may be called like any word: one without a dash, dot or port is left alone.
        if not key or not (port or "-" in name or "." in name):
            return match[0]
        return f"{LOOPBACK}:{substitution.port_of(key, int(port))}" if port else LOOPBACK

    return substituted_paths(_HOST_PORT.sub(replacement, text), substitution.mounts)


def substituted_paths(text: str, mounts: Iterable[Mount]) -> str:
    """Paths at or below a mount's target, as paths below its source; the innermost mount wins."""
    sources = {mount.target: mount.source for mount in mounts}
    if not sources:
        return text
    targets = "|".join(re.escape(target) for target in sorted(sources, key=len, reverse=True))
    return re.sub(rf"(?<![\w.\-/])({targets})(?![\w.\-])", lambda match: sources[match[1]], text)


def _owner_of_port(name: str, declared: Mapping[str, str], substitution: Substitution) -> str:
    """The key of the pod that an `X_PORT` variable is about: the one its `X_ADDR` names."""
    match = _PORT_NAME.fullmatch(name)
    if not match:
        return ""
    siblings = (f"{match[1]}_{suffix}" if match[1] else suffix for suffix in _ADDRESS_SUFFIXES)
    address = next((declared[sibling] for sibling in siblings if sibling in declared), "")
    return _key_of_address(address, substitution)


def _is_address(name: str) -> bool:
    return name.endswith(tuple(f"_{suffix}" for suffix in _ADDRESS_SUFFIXES))


def _key_of_address(address: str, substitution: Substitution) -> str:
    """Like Directory.key, but sure that it is looking at an address: a peer's Service may not be there yet, its name is clear."""
    if address in _LOCAL:
        return substitution.own_key
    known = substitution.directory.key(address)
    return known or (address if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", address) else "")
