"""What NetworkPolicies may say.

Source: k8s.io/kubernetes 1.36 `apis/networking/validation`. CIDR values that the object had already are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.field_errors import FieldError, forbidden, invalid, required
from shunter.api.formats import cidr
from shunter.api.meta import Json
from shunter.api.names import port_faults, port_name_faults
from shunter.cluster.apiserver.field_rules import faults, selector_errors, unsupported

_PROTOCOLS = ["TCP", "UDP", "SCTP"]
_TYPES = ["Ingress", "Egress"]
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_END_PORT_NEEDS = "may not be specified when `port` is"


def network_policy_errors(policy: Json, old: Json | None) -> list[FieldError]:
    """Ports, peers, selectors and policy types. More than two types are one fault, else each unknown one is."""
    spec = policy["spec"]
    errors = selector_errors(spec.get("podSelector"), "spec.podSelector")
    known = set(_cidrs(old["spec"])) if old is not None else set()
    for direction, side in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            here = f"spec.{direction}[{index}]"
            for at, port in enumerate(rule.get("ports") or ()):
                errors += _port_errors(port, f"{here}.ports[{at}]")
            for at, peer in enumerate(rule.get(side) or ()):
                errors += _peer_errors(peer, f"{here}.{side}[{at}]", known)
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    wrong = ((index, name) for index, name in enumerate(types) if name not in _TYPES)
    return errors + [unsupported(f"spec.policyTypes[{index}]", name, _TYPES) for index, name in wrong]


def _port_errors(port: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    protocol, number, last = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(unsupported(f"{field}.protocol", protocol, _PROTOCOLS))
    if number is None:
        return errors + ([] if last is None else [invalid(f"{field}.endPort", last, f"{_END_PORT_NEEDS} not specified")])
    if isinstance(number, str):
        errors += [] if last is None else [invalid(f"{field}.endPort", last, f"{_END_PORT_NEEDS} non-numeric")]
        return errors + faults(f"{field}.port", number, port_name_faults(number))
    errors += faults(f"{field}.port", number, port_faults(number))
    if last is not None:
        if last < number:
            errors.append(invalid(f"{field}.endPort", number, "must be greater than or equal to `port`"))
        errors += faults(f"{field}.endPort", last, port_faults(last))
    return errors


def _peer_errors(peer: Json, field: str, known: set[str]) -> list[FieldError]:
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    errors = [error for name in selectors for error in selector_errors(peer[name], f"{field}.{name}")]
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, f"{field}.ipBlock", known)
        if selectors:
            errors.append(forbidden(field, "may not specify both ipBlock and another peer"))
    elif not selectors:
        errors.append(required(field, "must specify a peer"))
    return errors


def _block_errors(block: Json, field: str, known: set[str]) -> list[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        return [required(f"{field}.cidr")]
    errors = [] if text in known else faults(f"{field}.cidr", text, cidr.faults(text))
    whole = cidr.block(text)
    if whole is None:
        return errors
    for index, excepted in enumerate(block.get("except") or ()):
        here = f"{field}.except[{index}]"
        errors += [] if excepted in known else faults(here, excepted, cidr.faults(excepted))
        part = cidr.block(excepted)
        if part is not None and not (part.network_address in whole and part.prefixlen > whole.prefixlen):
            errors.append(invalid(here, excepted, "must be a strict subset of `cidr`"))
    return errors


def _cidrs(spec: Json) -> Iterator[str]:
    for direction, side in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for peer in rule.get(side) or ():
                if block := peer.get("ipBlock"):
                    yield from (block.get("cidr", ""), *(block.get("except") or ()))
