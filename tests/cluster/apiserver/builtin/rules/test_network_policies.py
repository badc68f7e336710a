"""What NetworkPolicies may not say, in the words of Kubernetes 1.36 (apis/networking/validation)."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cluster.apiserver.builtin.rules.network_policies import network_policy_errors


def errors(old: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    before = None if old is None else {"spec": {"podSelector": {}, **old}}
    return [str(error) for error in network_policy_errors({"spec": {"podSelector": {}, **spec}}, before)]


def peer(**said: Any) -> dict[str, Any]:
    return {"ingress": [{"from": [said]}]}


def port(**said: Any) -> dict[str, Any]:
    return {"egress": [{"ports": [said]}]}


NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
HERE, PORT = "spec.ingress[0].from[0]", "spec.egress[0].ports[0]"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ingress": [{"from": [{"podSelector": {}, "namespaceSelector": {}}]}], "egress": [{}]}, []),
        (peer(), [f"{HERE}: Required value: must specify a peer"]),
        (
            peer(ipBlock={"cidr": "10.0.0.0/8"}, podSelector={}),
            [f"{HERE}: Forbidden: may not specify both ipBlock and another peer"],
        ),
        (peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}), []),
        (
            peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}),
            [f'{HERE}.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`'],
        ),
        (
            peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}),
            [f'{HERE}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`'],
        ),
        (peer(ipBlock={}), [f"{HERE}.ipBlock.cidr: Required value"]),
        (
            peer(ipBlock={"cidr": "10.0.0.1"}),
            [f'{HERE}.ipBlock.cidr: Invalid value: "10.0.0.1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
        ),
        (port(protocol="TCP", port=80, endPort=90), []),
        (
            port(protocol="HTTP"),
            [f'{PORT}.protocol: Unsupported value: "HTTP": supported values: "TCP", "UDP", "SCTP"'],
        ),
        (port(port=90, endPort=80), [f"{PORT}.endPort: Invalid value: 90: must be greater than or equal to `port`"]),
        (port(port="web", endPort=80), [f"{PORT}.endPort: Invalid value: 80: may not be specified when `port` is non-numeric"]),
        (port(endPort=80), [f"{PORT}.endPort: Invalid value: 80: may not be specified when `port` is not specified"]),
        (port(port=0), [f"{PORT}.port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (
            {"policyTypes": ["Ingress", "Exgress"]},
            ['spec.policyTypes[1]: Unsupported value: "Exgress": supported values: "Ingress", "Egress"'],
        ),
    ],
)
def test_what_is_refused(spec: dict[str, Any], expected: list[str]) -> None:
    assert errors(**spec) == expected


def test_a_block_that_was_there_before_the_rule_may_stay() -> None:
    written = peer(ipBlock={"cidr": "10.1.2.3/8"})
    assert errors(**written) == [
        f'{HERE}.ipBlock.cidr: Invalid value: "10.1.2.3/8": must not have bits set beyond the prefix length'
    ]
    assert errors(old=written, **written) == []
