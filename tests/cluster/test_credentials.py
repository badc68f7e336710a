"""Keys, certificates and tokens: private, made once, kept over restarts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.prepared_state import prepared
from shunter.cluster.credentials import CERTIFICATE_NAMES, HOST, STATUS_SERVER_NAME, prepare_credentials
from shunter.cluster.state_dir import StateDir, write_private
from shunter.kube.tls import certificates


def test_credentials_are_private_and_survive_a_restart(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    secret = (state.kubeconfig, state.tokens, state.pki / "ca.key", state.component_kubeconfig("operator"))
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
    before = [path.read_bytes() for path in secret]
    prepare_credentials(state, 12345)
    assert [path.read_bytes() for path in secret] == before


def test_the_server_certificate_lasts_as_long_as_its_authority(tmp_path: Path) -> None:
    pki = prepared(tmp_path).pki
    ends = [certificates.expires_at((pki / name).read_bytes()) for name in ("server.crt", "ca.crt")]
    assert abs(ends[0] - ends[1]) < timedelta(minutes=1)


def test_a_state_directory_without_a_certificate_of_the_operator_is_given_one(tmp_path: Path) -> None:
    state = prepared(tmp_path)
    server, made = (state.pki / "server.crt").read_bytes(), state.operator_certificate / "tls.crt"
    made.unlink()  # as an older version, or a start that was killed, leaves it
    prepare_credentials(state, 12345)
    assert made.exists()
    assert (state.pki / "server.crt").read_bytes() == server
    assert (state.operator_certificate / "ca.crt").read_bytes() == (state.pki / "ca.crt").read_bytes()


def test_every_component_has_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = json.loads(prepared(tmp_path).tokens.read_text())
    assert sorted(entry["user"] for entry in tokens.values()) == ["admin", "agent", "operator"]


@pytest.mark.parametrize("content", ["", "[]", '{"a', '{"a": 1}'])
def test_damaged_tokens_are_made_again(tmp_path: Path, content: str) -> None:
    state = prepared(tmp_path)
    state.tokens.write_text(content)
    prepare_credentials(state, 12345)
    assert token_of(state) in json.loads(state.tokens.read_text())


def token_of(state: StateDir) -> str:
    """The administrator's."""
    token: str = json.loads(state.kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


class Killed(BaseException):
    """Nothing is cleaned up after it."""


@pytest.mark.parametrize("writes", range(11))
def test_a_start_that_was_killed_after_some_writes_is_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    left = iter(range(writes))

    def write_until_killed(path: Path, content: bytes) -> None:
        if next(left, None) is None:
            path.with_name(f"{path.name}.new").write_bytes(content[: len(content) // 2])
            raise Killed
        write_private(path, content)

    with monkeypatch.context() as patched:
        patched.setattr("shunter.cluster.credentials.write_private", write_until_killed)
        with pytest.raises(Killed):
            prepared(tmp_path)
    state = prepared(tmp_path)
    authority = (state.pki / "ca.crt").read_bytes()
    of_server = certificates.KeyPair((state.pki / "server.crt").read_bytes(), (state.pki / "server.key").read_bytes())
    directory = state.operator_certificate
    of_operator = certificates.KeyPair((directory / "tls.crt").read_bytes(), (directory / "tls.key").read_bytes())
    now = datetime.now(UTC)
    assert certificates.fault_of(of_server, authority, list(CERTIFICATE_NAMES), now) == ""
    assert certificates.fault_of(of_operator, (directory / "ca.crt").read_bytes(), [HOST, STATUS_SERVER_NAME], now) == ""
    assert (directory / "ca.crt").read_bytes() == authority
    assert token_of(state) in json.loads(state.tokens.read_text())
