"""A serving certificate is always one that clients have been told to trust, however its storing is interrupted."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shunter.kube.tls.certificates import KeyPair, expires_at, fault_of, unexpired
from shunter.kube.tls.serving_certificate import LIFETIME, RENEWAL, SETTLING, ServingCertificate, includes, successor

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HOSTS = ["shunter-webhook.shunter-system.svc", "127.0.0.1"]


@pytest.fixture(scope="module")
def fresh() -> ServingCertificate:
    return successor(None, HOSTS, NOW).certificate


def fault(certificate: ServingCertificate, now: datetime, *, trusted: bytes = b"") -> str:
    return fault_of(certificate.serving, trusted or certificate.authorities, HOSTS, now)


def test_a_fresh_one_is_good_for_all_hosts_until_it_expires(fresh: ServingCertificate) -> None:
    assert fault(fresh, NOW) == fault(fresh, NOW + LIFETIME - timedelta(seconds=1)) == ""
    assert "not valid" in fault(fresh, NOW + LIFETIME + timedelta(seconds=1))
    assert "no matching subjectAltName" in fault_of(fresh.serving, fresh.authorities, ["other.svc"], NOW)


def test_nothing_changes_before_its_time(fresh: ServingCertificate) -> None:
    assert successor(fresh, HOSTS, NOW + LIFETIME - RENEWAL - timedelta(minutes=1), is_trusted=True) == (fresh, "")


def test_a_successor_is_made_known_served_and_the_old_authority_forgotten(fresh: ServingCertificate) -> None:
    due = NOW + LIFETIME - RENEWAL
    staged, why = successor(fresh, HOSTS, due, is_trusted=True)
    assert "expires soon" in why
    assert staged.serving == fresh.serving
    assert len(unexpired(staged.authorities, due)) == 2
    assert staged.staged is not None
    assert successor(staged, HOSTS, due + SETTLING - timedelta(seconds=1), is_trusted=True) == (staged, "")
    assert successor(staged, HOSTS, due + SETTLING, is_trusted=False) == (staged, "")
    promoted, _ = successor(staged, HOSTS, due + SETTLING, is_trusted=True)
    assert (promoted.serving, promoted.staged) == (staged.staged, None)
    assert fault(fresh, due, trusted=promoted.authorities) == "", "a replica that serves the old one is trusted still"
    later, why = successor(promoted, HOSTS, NOW + LIFETIME + timedelta(minutes=1), is_trusted=True)
    assert (why, len(unexpired(later.authorities, NOW))) == ("what expired is dropped", 1)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        pytest.param({"serving": KeyPair(b"no certificate", b"no key")}, "cannot be read", id="not PEM"),
        pytest.param({"authorities": b"nobody"}, "", id="the authority is lost"),
    ],
)
def test_a_damaged_one_is_replaced(fresh: ServingCertificate, damage: dict[str, object], why: str) -> None:
    made, said = successor(msgspec.structs.replace(fresh, **damage), HOSTS, NOW)
    assert why in said
    assert fault(made, NOW) == ""


def test_a_key_of_another_certificate_is_noticed_and_the_authorities_are_kept(fresh: ServingCertificate) -> None:
    other = successor(None, HOSTS, NOW).certificate
    mixed = msgspec.structs.replace(fresh, serving=KeyPair(fresh.serving.certificate, other.serving.key))
    made, why = successor(mixed, HOSTS, NOW)
    assert why == "the key is not the certificate's"
    assert fault(fresh, NOW, trusted=made.authorities) == "", "replicas that serve it from memory are trusted still"


def test_an_expired_one_gives_way_to_its_staged_successor_at_once(fresh: ServingCertificate) -> None:
    staged = successor(fresh, HOSTS, NOW + LIFETIME - RENEWAL).certificate
    made, _ = successor(staged, HOSTS, NOW + LIFETIME + timedelta(days=1), is_trusted=False)
    assert made.serving == staged.staged


def test_a_staged_one_that_expired_meanwhile_is_replaced(fresh: ServingCertificate) -> None:
    staged = successor(fresh, HOSTS, NOW + LIFETIME - RENEWAL).certificate
    much_later = NOW + 3 * LIFETIME
    made, _ = successor(staged, HOSTS, much_later)
    assert expires_at(made.serving.certificate) == much_later + LIFETIME
    assert len(unexpired(made.authorities, much_later)) == 1


def test_a_bundle_includes_authorities_that_still_matter(fresh: ServingCertificate) -> None:
    other = successor(None, HOSTS, NOW).certificate
    both = fresh.authorities + other.authorities
    assert includes(both, fresh.authorities, NOW)
    assert not includes(fresh.authorities, both, NOW)
    assert includes(b"", fresh.authorities, NOW + 2 * LIFETIME)
