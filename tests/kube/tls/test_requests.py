"""Certificate signing requests, read and signed."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from shunter.kube.tls.certificates import new_authority
from shunter.kube.tls.requests import RequestError, Subject, pem_blocks, signed, subject_of
from signing_requests import Key, new_key, request_pem

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def forged(key: Key) -> bytes:
    """A request whose subject was changed after it was signed."""
    (block,) = pem_blocks(request_pem("jane", key=key))
    body = base64.encodebytes(block.content.replace(b"jane", b"joan"))
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + body + b"-----END CERTIFICATE REQUEST-----\n"


def test_what_a_request_wants() -> None:
    found = subject_of(request_pem("jane", "dev", "ops", hosts=["a.example.com", "10.0.0.1"]))
    assert found == Subject("jane", ("dev", "ops"), ("a.example.com",), ("10.0.0.1",))


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (new_key(), "x509: ECDSA verification failure"),
        (rsa.generate_private_key(65537, 2048), "crypto/rsa: verification error"),
        (ed25519.Ed25519PrivateKey.generate(), "x509: Ed25519 verification failure"),
    ],
)
def test_a_request_that_its_key_did_not_sign_is_refused(key: Key, why: str) -> None:
    assert subject_of(request_pem("jane", key=key)).common_name == "jane"
    with pytest.raises(RequestError, match=why):
        subject_of(forged(key))


@pytest.mark.parametrize("text", [b"", b"hello", request_pem("a").replace(b"CERTIFICATE REQUEST", b"NEW CERTIFICATE REQUEST")])
def test_what_is_no_request_is_refused(text: bytes) -> None:
    with pytest.raises(RequestError, match="PEM block type must be CERTIFICATE REQUEST"):
        subject_of(text)


def test_blocks_may_have_text_around_them_and_headers() -> None:
    pem = new_authority("a").certificate
    plain, with_headers = pem_blocks(b"Subject: a\n" + pem + b"text\n" + pem.replace(b"-----\n", b"-----\nA: b\n\n", 1))
    assert (plain.type, plain.has_headers, with_headers.has_headers) == ("CERTIFICATE", False, True)
    assert plain.content == with_headers.content


def test_an_authority_that_has_expired_signs_nothing() -> None:
    authority = new_authority("a", days=1, now=NOW - timedelta(days=2))
    with pytest.raises(RequestError, match="the CA has expired on 2026-02-28"):
        signed(request_pem("jane"), authority, ["client auth"], timedelta(days=1), NOW)
