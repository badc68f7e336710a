"""Keys, certificates and tokens: private, made once, kept over restarts."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from cluster.prepared_state import prepared
from shunter.cluster.credentials import prepare_credentials
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
