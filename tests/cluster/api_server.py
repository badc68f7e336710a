"""Starts API servers for tests: `python -m shunter.cluster.apiserver` on a free port."""

from __future__ import annotations

import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.cluster.credentials import prepare_credentials
from shunter.cluster.free_ports import free_port
from shunter.cluster.state_dir import StateDir

READY_SECONDS = 30.0


class RunningApiServer(NamedTuple):
    """One API server process and how to reach it. `token` is an administrator's."""

    url: str
    token: str
    kubeconfig: Path
    state: StateDir
    process: subprocess.Popen[bytes]

    @property
    def ca(self) -> Path:
        return self.state.pki / "ca.crt"

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=15)


def start_api_server(state_dir: Path, port: int = 0, *, service_accounts: bool = False) -> RunningApiServer:
    """Starts an API server on a state directory, fresh or used, and waits until it is ready. Without `service_accounts` pods
    need none: no controller is there to make them."""
    state = StateDir(state_dir)
    state.create()
    port = port or free_port()
    prepare_credentials(state, port)
    tokens = msgspec.json.decode(state.tokens.read_bytes())
    token = next(token for token, entry in tokens.items() if entry["user"] == "admin")
    command = [sys.executable, "-m", "shunter.cluster.apiserver", "--state-dir", str(state_dir), "--port", str(port)]
    if not service_accounts:
        command += ["--disable-admission-plugins", "ServiceAccount"]
    with open(state.logs / "apiserver.log", "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    server = RunningApiServer(f"https://127.0.0.1:{port}", token, state.kubeconfig, state, process)
    _wait_until_ready(server)
    return server


def _wait_until_ready(server: RunningApiServer) -> None:
    deadline = time.monotonic() + READY_SECONDS
    context = server.tls
    while True:
        try:
            urllib.request.urlopen(f"{server.url}/readyz", context=context, timeout=1)
            return
        except (urllib.error.URLError, OSError):
            log = (server.state.logs / "apiserver.log").read_text()
            assert server.process.poll() is None, f"the API server stopped:\n{log}"
            assert time.monotonic() < deadline, f"the API server is not ready:\n{log}"
            time.sleep(0.01)
