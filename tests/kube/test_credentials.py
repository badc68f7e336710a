"""What is said of identities in files that can no longer be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.kube import credentials
from shunter.kube.credentials import CertificateFiles, TokenFile, bearer
from shunter.kube.tls import certificates


async def test_a_token_file_that_went_away_is_told_of_and_its_last_token_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text("first")
    found = TokenFile(tmp_path / "token")
    assert await found.headers() == bearer("first")
    (tmp_path / "token").unlink()
    monkeypatch.setattr(credentials, "FILE_AGE", -1.0)
    assert await found.headers() == bearer("first")
    assert f"The token file {tmp_path / 'token'} cannot be read: No such file or directory." in caplog.text


async def test_a_token_beside_a_file_that_was_never_there_is_good(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert await TokenFile(tmp_path / "none", "given").headers() == bearer("given")
    assert not caplog.text


async def test_a_client_certificate_that_is_not_renewed_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authority = certificates.new_authority("test")
    pair = certificates.issue(authority, "me", ())
    (tmp_path / "crt").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    files = CertificateFiles((tmp_path / "crt").read_bytes, (tmp_path / "key").read_bytes)
    (tmp_path / "crt").write_bytes(certificates.issue(authority, "me", ()).certificate)
    assert not await files.refresh()
    assert "The client certificate was not renewed" in caplog.text
    assert "certificate and key do not fit" in caplog.text
    assert (await files.certificate() or ((),))[0] == pair.certificate
