"""Certificates: accepted by Python's TLS for exactly the hosts they name, and by Kubernetes' reading of user and groups."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from shunter.kube.tls.certificates import expires_at, issue, new_authority

pytestmark = pytest.mark.integration


async def handshake(directory: Path, server_name: str, hosts: list[str]) -> None:
    """A TLS connection to a server with a certificate for `hosts`, by a client that expects `server_name`."""
    authority = new_authority("test-ca")
    pair = issue(authority, "server", hosts)
    (directory / "tls.pem").write_bytes(pair.certificate + pair.key)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(directory / "tls.pem")
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=serving)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname=server_name)
        writer.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "::1", "operator.kubeflow.svc"])
async def test_a_client_trusts_every_host_the_certificate_names(name: str, tmp_path: Path) -> None:
    await handshake(tmp_path, name, ["127.0.0.1", "::1", "localhost", "operator.kubeflow.svc"])


async def test_a_client_refuses_a_host_the_certificate_does_not_name(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        await handshake(tmp_path, "elsewhere", ["localhost"])


def test_common_name_and_organizations_are_user_and_groups() -> None:
    pair = issue(new_authority("ca"), "admin", [], organizations=["system:masters", "trainers"])
    subject = x509.load_pem_x509_certificate(pair.certificate).subject
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["admin"]
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters", "trainers"]


def test_a_certificate_is_valid_since_a_minute_ago_and_for_the_days_asked() -> None:
    pair = issue(new_authority("ca"), "server", ["localhost"], days=7)
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    now = datetime.now(UTC)
    assert timedelta(seconds=59) < now - certificate.not_valid_before_utc < timedelta(seconds=70)
    assert timedelta(days=6.99) < expires_at(pair.certificate) - now < timedelta(days=7.01)
