"""The process around the server: what it says when it cannot start, and how it stops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cluster.api_server import RunningApiServer, start_api_server

pytestmark = pytest.mark.integration


def test_a_taken_port_is_named(api_server: RunningApiServer, tmp_path: Path) -> None:
    port = api_server.url.rpartition(":")[2]
    (tmp_path / "pki").mkdir()
    for name in ("ca.crt", "server.crt", "server.key"):
        (tmp_path / "pki" / name).write_bytes((api_server.state.pki / name).read_bytes())
    command = [sys.executable, "-m", "shunter.cluster.apiserver", "--state-dir", str(tmp_path), "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert f"API server on 127.0.0.1:{port} of {tmp_path}" in done.stderr
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plugin_that_cannot_be_disabled_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shunter.cluster.apiserver", "--state-dir", str(tmp_path), "--port", "0"]
    done = subprocess.run([*command, "--disable-admission-plugins", "Priority"], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (1, "--disable-admission-plugins Priority: only ServiceAccount can be disabled\n")


def test_missing_keys_are_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shunter.cluster.apiserver", "--state-dir", str(tmp_path), "--port", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_says_nothing_when_all_is_well_and_stops_on_sigterm(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    server.process.terminate()
    assert server.process.wait(timeout=10) == 0
    assert (server.state.logs / "apiserver.log").read_text() == ""
