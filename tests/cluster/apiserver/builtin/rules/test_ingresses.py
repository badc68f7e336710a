"""What Ingresses may say beyond the recorded vectors."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.builtin.rules.ingresses import ingress_errors


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        ("web.example.com", ""),
        ("10.0.0.1", "must be a DNS name, not an IP address"),
        ("010.0.0.1", "must be a DNS name, not an IP address"),
        ("fe80::1", "must be a DNS name, not an IP address"),
        ("fe80::1%eth0", "a lowercase RFC 1123 subdomain"),
    ],
)
def test_a_host_is_no_address_in_any_form_that_kubernetes_reads(host: str, fault: str) -> None:
    errors = ingress_errors({"metadata": {}, "spec": {"rules": [{"host": host}]}}, None)
    assert bool(errors) is bool(fault)
    assert all(fault in error.body for error in errors)
