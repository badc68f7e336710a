"""What EndpointSlices and Endpoints may say.

Source: k8s.io/kubernetes 1.36 `apis/discovery/validation`, `apis/core/validation`. An EndpointSlice may have loopback addresses
here: webhook servers run beside the API server.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from shunter.api.field_errors import FieldError, duplicate, invalid, required, too_many
from shunter.api.formats import cidr
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults, port_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import address_errors, changed, faults, one_of

_ADDRESS_TYPES = ["FQDN", "IPv4", "IPv6"]
_PROTOCOLS = ["SCTP", "TCP", "UDP"]
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS = 1000, 100, 20_000
_LINK_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def endpoint_slice_errors(endpoint_slice: Json, old: Json | None) -> list[FieldError]:
    """At most 1000 endpoints; `addressType` never changes."""
    kind = endpoint_slice.get("addressType") or ""
    errors = one_of("addressType", kind, _ADDRESS_TYPES)
    if old is not None:
        errors += changed("addressType", kind, old.get("addressType") or "")
    endpoints, ports = endpoint_slice.get("endpoints") or (), endpoint_slice.get("ports") or ()
    if len(endpoints) > _MOST_ENDPOINTS:
        errors.append(too_many("endpoints", len(endpoints), _MOST_ENDPOINTS))
    for index, endpoint in enumerate(endpoints):
        errors += _endpoint_errors(endpoint, kind, f"endpoints[{index}]")
    return errors + _slice_port_errors(ports)


def endpoints_errors(endpoints: Json, old: Json | None) -> list[FieldError]:
    """Faults of each of the subsets; every field may change."""
    return [
        error
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for error in _subset_errors(subset, f"subsets[{index}]")
    ]


def _endpoint_errors(endpoint: Json, kind: str, field: str) -> list[FieldError]:
    addresses = endpoint.get("addresses") or ()
    errors = [] if addresses else [required(f"{field}.addresses", "must contain at least 1 address")]
    if len(addresses) > _MOST_ADDRESSES:
        errors.append(too_many(f"{field}.addresses", len(addresses), _MOST_ADDRESSES))
    for index, address in enumerate(addresses):
        here = f"{field}.addresses[{index}]"
        if kind == "FQDN":
            errors += faults(here, address, subdomain_faults(address))
        elif kind in _ADDRESS_TYPES:
            errors += address_errors(here, address) or _family_errors(f"{field}.addresses", address, kind)
            errors += _endpoint_address_errors(here, address)
    for name, rule in (("hostname", label_faults), ("nodeName", subdomain_faults)):
        if endpoint.get(name) is not None:
            errors += faults(f"{field}.{name}", endpoint[name], rule(endpoint[name]))
    return errors


def _family_errors(field: str, address: str, kind: str) -> list[FieldError]:
    found = cidr.address(address)
    return [] if found is None or found.version == int(kind[-1]) else [invalid(field, address, f"must be an {kind} address")]


def _endpoint_address_errors(field: str, text: str) -> list[FieldError]:
    """Addresses that lead nowhere else."""
    address = cidr.address(text)
    if address is None:
        return []
    if address.is_unspecified:
        return [invalid(field, text, f"may not be unspecified ({text})")]
    errors: list[FieldError] = []
    if address.is_link_local:
        errors.append(invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _LINK_LOCAL_MULTICAST[address.version]:
        errors.append(invalid(field, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
    return errors


def _slice_port_errors(ports: Sequence[Json]) -> list[FieldError]:
    errors = [too_many("ports", len(ports), _MOST_PORTS)] if len(ports) > _MOST_PORTS else []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"ports[{index}]", port.get("name") or ""
        errors += faults(f"{here}.name", name, label_faults(name)) if name else []
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        errors += one_of(f"{here}.protocol", port.get("protocol") or "", _PROTOCOLS)
        if port.get("appProtocol") is not None:
            errors += faults(f"{here}.appProtocol", port["appProtocol"], label_key_faults(port["appProtocol"]))
    return errors


def _subset_errors(subset: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(required(field, "must specify `addresses` or `notReadyAddresses`"))
    for group in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(group) or ()):
            errors += _subset_address_errors(address, f"{field}.{group}[{index}]")
    ports = subset.get("ports") or ()
    for index, port in enumerate(ports):
        here, name = f"{field}.ports[{index}]", port.get("name") or ""
        if name:
            errors += faults(f"{here}.name", name, label_faults(name))
        elif len(ports) > 1:
            errors.append(required(f"{here}.name"))
        errors += faults(f"{here}.port", port.get("port", 0), port_faults(port.get("port", 0)))
        errors += one_of(f"{here}.protocol", port.get("protocol") or "", _PROTOCOLS)
    return errors


def _subset_address_errors(entry: Json, field: str) -> list[FieldError]:
    text = entry.get("ip") or ""
    errors = address_errors(f"{field}.ip", text) + _endpoint_address_errors(f"{field}.ip", text)
    address = cidr.address(text)
    if address is None:
        errors.append(invalid(f"{field}.ip", text, "must be a valid IP address"))
    elif address.is_loopback:
        errors.append(invalid(f"{field}.ip", text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if entry.get("hostname"):
        errors += faults(f"{field}.hostname", entry["hostname"], label_faults(entry["hostname"]))
    if entry.get("nodeName") is not None:
        errors += faults(f"{field}.nodeName", entry["nodeName"], subdomain_faults(entry["nodeName"]))
    return errors
