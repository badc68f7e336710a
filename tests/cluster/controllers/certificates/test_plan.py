"""What becomes of a request for a certificate."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from shunter.api.meta import Json
from shunter.cluster.controllers.certificates.approval import ANY, OWN, rights
from shunter.cluster.controllers.certificates.plan import Observed, plan
from shunter.cluster.controllers.certificates.signers import CLIENT, KUBELET_CLIENT, KUBELET_SERVING
from shunter.cluster.controllers.certificates.views import SigningRequest
from shunter.kube.controllers.plan import Delete, Plan
from shunter.kube.tls.certificates import new_authority
from signing_requests import request_pem

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AUTHORITY = new_authority("authority", now=NOW - timedelta(days=1))
APPROVED = {"type": "Approved", "status": "True", "lastUpdateTime": "2026-03-01T11:30:00Z"}
NODE = request_pem("system:node:n1", "system:nodes")
SERVING = request_pem("system:node:n1", "system:nodes", hosts=["n1", "10.0.0.1"])
CLIENT_USAGES = ["digital signature", "client auth"]


def request(
    pem: bytes = b"", *conditions: Json, signer: str = CLIENT, usages: Any = CLIENT_USAGES, certificate: str = "", **spec: Any
) -> SigningRequest:
    body: Json = {
        "metadata": {"name": "r", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-03-01T11:00:00Z"},
        "spec": {
            "request": base64.b64encode(pem or request_pem("jane", "dev", "ops")).decode(),
            "signerName": signer,
            "usages": usages,
            **spec,
        },
        "status": {**({"conditions": conditions} if conditions else {}), **({"certificate": certificate} if certificate else {})},
    }
    return msgspec.convert(body, SigningRequest)


def planned(one: SigningRequest, now: datetime = NOW) -> Plan:
    return plan(Observed(request=one, authority=AUTHORITY), now)


def issued(one: SigningRequest, now: datetime = NOW) -> x509.Certificate:
    status = planned(one, now).status
    assert status is not None
    return x509.load_pem_x509_certificate(base64.b64decode(status.desired["certificate"]))


def failure(one: SigningRequest) -> str:
    status = planned(one).status
    assert status is not None
    condition = status.desired["conditions"][-1]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Failed", "True", "SignerValidationFailure")
    assert "certificate" not in status.desired
    return str(condition["message"])


def test_an_approved_request_is_signed_for_its_subject_and_its_usages_only() -> None:
    certificate = issued(request(b"", APPROVED))
    assert certificate.subject.rfc4514_string() == "CN=jane,O=ops,O=dev"
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(AUTHORITY.certificate))
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign) == (True, False, False)
    assert list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


@pytest.mark.parametrize(
    ("seconds", "lives"),
    [
        (None, timedelta(days=365)),
        (10 * 365 * 86400, timedelta(days=365)),
        (86400, timedelta(days=1)),
        (3600, timedelta(minutes=65)),
        (600, timedelta(minutes=15)),
    ],
)
def test_it_lives_as_long_as_it_asks_for_and_a_year_at_most(seconds: int | None, lives: timedelta) -> None:
    certificate = issued(request(b"", APPROVED, expirationSeconds=seconds))
    assert certificate.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == lives


def test_no_certificate_outlives_the_authority() -> None:
    later = x509.load_pem_x509_certificate(AUTHORITY.certificate).not_valid_after_utc
    now = later - timedelta(days=3)
    approved = {**APPROVED, "lastUpdateTime": now.isoformat()}
    assert issued(request(b"", approved), now).not_valid_after_utc == later


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (request(b"", APPROVED, usages=["client auth", "server auth"]), "invalid usage for client certificate: server auth"),
        (request(b"", APPROVED, usages=["digital signature"]), "missing required usage for client certificate: client auth"),
        (request(b"", APPROVED, signer=KUBELET_CLIENT), "subject organization is not system:nodes"),
        (request(SERVING, APPROVED, signer=KUBELET_CLIENT), "DNS subjectAltNames are not allowed"),
        (
            request(request_pem("n1", "system:nodes"), APPROVED, signer=KUBELET_CLIENT),
            "subject common name does not begin with system:node:",
        ),
        (
            request(NODE, APPROVED, signer=KUBELET_CLIENT, usages=["client auth"]),
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (request(NODE, APPROVED, signer=KUBELET_SERVING), "DNS or IP subjectAltName is required"),
        (
            request(SERVING, APPROVED, signer=KUBELET_SERVING),
            "usages did not match [digital signature key encipherment server auth]",
        ),
    ],
)
def test_what_is_not_as_its_signer_wants_it_fails(one: SigningRequest, why: str) -> None:
    assert failure(one) == why


def test_a_node_gets_the_certificate_that_it_serves_with() -> None:
    certificate = issued(request(SERVING, APPROVED, signer=KUBELET_SERVING, usages=["digital signature", "server auth"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]


@pytest.mark.parametrize(
    "one",
    [
        request(),
        request(b"", {**APPROVED, "type": "Denied"}),
        request(b"", {**APPROVED, "type": "Failed"}, APPROVED),
        request(b"", APPROVED, signer="example.com/other"),
    ],
)
def test_others_are_not_signed(one: SigningRequest) -> None:
    assert planned(one).status is None


def test_without_an_authority_nothing_is_signed() -> None:
    assert plan(Observed(request=request(b"", APPROVED)), NOW).status is None


@pytest.mark.parametrize(
    ("one", "stays"),
    [
        (request(), timedelta(hours=23)),
        (request(b"", APPROVED, signer="example.com/other"), timedelta(hours=23, minutes=30)),
        (request(b"", {**APPROVED, "type": "Denied"}), timedelta(minutes=30)),
        (request(b"", {**APPROVED, "type": "Failed"}), timedelta(minutes=30)),
    ],
)
def test_a_request_is_removed_when_it_is_done_with_or_nobody_cares(one: SigningRequest, stays: timedelta) -> None:
    assert planned(one).requeue_after == stays.total_seconds() + 1
    assert planned(one, NOW + stays).writes == ()
    (removal,) = planned(one, NOW + stays + timedelta(seconds=1)).writes
    assert isinstance(removal, Delete)
    assert removal.ref.uid == "u"


def test_a_signed_request_is_removed_in_an_hour_or_when_its_certificate_ends() -> None:
    status = planned(request(b"", APPROVED, expirationSeconds=600)).status
    assert status is not None
    one = request(b"", APPROVED, certificate=status.desired["certificate"])
    assert planned(one).requeue_after == 601
    longer = planned(request(b"", APPROVED)).status
    assert longer is not None
    assert planned(request(b"", APPROVED, certificate=longer.desired["certificate"])).requeue_after == 1801


def test_who_renews_its_own_certificate_needs_less_of_a_right() -> None:
    assert rights(request(NODE, signer=KUBELET_CLIENT, username="system:node:n1")) == (OWN, ANY)
    assert rights(request(NODE, signer=KUBELET_CLIENT, username="bootstrapper")) == (ANY,)


@pytest.mark.parametrize(
    "one",
    [
        request(NODE, signer=CLIENT),
        request(SERVING, signer=KUBELET_SERVING, usages=["digital signature", "server auth"]),
        request(signer=KUBELET_CLIENT),
        request(NODE, APPROVED, signer=KUBELET_CLIENT),
        request(NODE, {**APPROVED, "type": "Denied"}, signer=KUBELET_CLIENT),
    ],
)
def test_all_else_is_left_to_people(one: SigningRequest) -> None:
    assert rights(one) == ()
