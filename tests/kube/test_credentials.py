"""Credentials: files that are renewed or can no longer be read, and what plugins print."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kube.kubeconfigs import config, written
from shunter.errors import EnvironmentProblem
from shunter.kube import credentials, kubeconfig
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


async def test_a_token_that_is_renewed_in_its_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    user = TokenFile(file)
    assert await user.headers() == bearer("one")
    file.write_text("two")
    assert await user.headers() == bearer("one")
    assert await user.refresh()
    assert await user.headers() == bearer("two")
    assert not await user.refresh()
    file.write_text("three")
    monkeypatch.setattr(credentials, "FILE_AGE", -1.0)
    assert await user.headers() == bearer("three")


@pytest.mark.parametrize("content", [None, "", "\n"])
async def test_a_token_is_good_while_its_file_is_being_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    user = TokenFile(file)
    monkeypatch.setattr(credentials, "FILE_AGE", -1.0)
    assert await user.headers() == bearer("one")
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    assert await user.headers() == bearer("one")
    with pytest.raises(EnvironmentProblem):
        await user.refresh()
    file.write_text("two")
    assert await user.headers() == bearer("two")


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


def plugin(directory: Path, answer: dict[str, Any] | str, code: int = 0) -> dict[str, Any]:
    """A user whose credentials a script prints; it counts its runs in the file `runs`."""
    (directory / "answer").write_text(answer if isinstance(answer, str) else json.dumps({"status": answer}))
    script = directory / "plugin"
    script.write_text(
        f'#!/bin/sh\necho x >> {directory}/runs\necho "$KUBERNETES_EXEC_INFO $WHO $1" > {directory}/info\n'
        f"cat {directory}/answer\necho sorry >&2\nexit {code}\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "command": "./plugin",
            "args": ["get-token"],
            "apiVersion": "client.authentication.k8s.io/v1",
            "env": [{"name": "WHO", "value": "me"}],
            "provideClusterInfo": True,
            "installHint": "Install it.",
        }
    }


def runs(directory: Path) -> int:
    return len((directory / "runs").read_text().split())


@pytest.mark.integration
async def test_a_plugin_is_asked_once_until_its_answer_expires_or_is_refused(tmp_path: Path) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    answer = {"token": "t", "expirationTimestamp": later}
    user = kubeconfig.load(written(tmp_path / "c", config(plugin(tmp_path, answer)))).credentials
    for _ in range(3):
        assert await user.headers() == (("Authorization", "Bearer t"),)
    assert runs(tmp_path) == 1
    assert await user.refresh()
    await user.headers()
    assert runs(tmp_path) == 2
    info, who, argument = (tmp_path / "info").read_text().rsplit(maxsplit=2)
    assert json.loads(info)["spec"] == {
        "interactive": False,
        "cluster": {"server": "https://x", "insecure-skip-tls-verify": False, "tls-server-name": ""},
    }
    assert (who, argument) == ("me", "get-token")


@pytest.mark.integration
async def test_an_expired_answer_of_a_plugin_is_renewed(tmp_path: Path) -> None:
    answer = {"token": "t", "expirationTimestamp": (datetime.now(UTC) + timedelta(seconds=5)).isoformat()}
    user = kubeconfig.load(written(tmp_path / "c", config(plugin(tmp_path, answer)))).credentials
    await user.headers()
    await user.headers()
    assert runs(tmp_path) == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [("{}", 3, "exited with 3: sorry. Install it."), ("hello", 0, "printed no ExecCredential")],
)
async def test_a_plugin_that_fails_is_said(tmp_path: Path, answer: str, code: int, said: str) -> None:
    user = kubeconfig.load(written(tmp_path / "c", config(plugin(tmp_path, answer, code)))).credentials
    with pytest.raises(EnvironmentProblem) as error:
        await user.headers()
    assert said in str(error.value)


@pytest.mark.integration
async def test_a_plugin_that_is_not_installed_is_said_with_its_hint(tmp_path: Path) -> None:
    user = plugin(tmp_path, {})
    user["exec"]["command"] = "no-such-plugin"
    found = kubeconfig.load(written(tmp_path / "c", config(user))).credentials
    with pytest.raises(EnvironmentProblem, match=r"no-such-plugin cannot be started: .* Install it"):
        await found.headers()
