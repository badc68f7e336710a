"""`shunter ui` and `shunter ui serve` as commands."""

from __future__ import annotations

import html
import http.client
import json
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import SHUNTER, eventually
from page.server import new_user
from shunter.kube.tls.certificates import issue, new_authority

pytestmark = pytest.mark.integration


@contextmanager
def started(cluster: EmbeddedCluster, *arguments: str, browser: str = "", **variables: str) -> Iterator[subprocess.Popen[str]]:
    command = [*SHUNTER, "ui", *arguments]
    environment = {**cluster.environment, "DISPLAY": "", "BROWSER": browser, **variables}
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def test_the_link_logs_in_and_status_prints_another(page_cluster: EmbeddedCluster) -> None:
    with started(page_cluster, "--port", "0") as process:
        link = line(process.stdout)
        record = page_cluster.state.page
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        told = json.loads(page_cluster.shunter("status", "-o", "json").stdout)["page"]
        assert told.partition("?")[0] == link.partition("?")[0]
        assert "web page    http://127.0.0.1:" in page_cluster.shunter("status").stdout
        for url in (link, told):
            assert opened(url) == 303
            assert opened(url) == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not record.exists()
    assert json.loads(page_cluster.shunter("status", "-o", "json").stdout)["page"] == ""


def opened(url: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse().status


def test_the_login_code_is_not_in_the_command_line_of_the_browser(page_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}.new\nmv {told}.new {told}\n')
    browser.chmod(0o700)
    with started(page_cluster, "--port", "0", "--open", browser=f"{browser} %s") as process:
        link = line(process.stdout)
        eventually(told.exists)
        address = urlsplit(told.read_text().strip())
        file = Path(address.path)
        assert (address.scheme, address.query, stat.S_IMODE(file.stat().st_mode)) == ("file", "", 0o600)
        found = re.search(r'content="0; url=([^"]+)"', file.read_text())
        assert found is not None
        assert html.unescape(found[1]) == link
        assert opened(link) == 303
    assert not file.exists()


def test_without_a_browser_the_link_is_left_to_open(page_cluster: EmbeddedCluster) -> None:
    nothing = {"PATH": str(Path(sys.executable).parent)}
    with started(page_cluster, "--port", "0", "--open", browser="/nonexistent %s", **nothing) as process:
        assert opened(line(process.stdout)) == 303
        process.send_signal(signal.SIGINT)
        assert "No browser was found on this machine: open the link in one." in process.communicate(timeout=30)[1]


def test_a_page_that_was_killed_is_not_named(page_cluster: EmbeddedCluster) -> None:
    with started(page_cluster, "--port", "0") as process:
        line(process.stdout)
        process.kill()
        process.wait(30)
        assert json.loads(page_cluster.shunter("status", "-o", "json").stdout)["page"] == ""


def test_a_port_that_is_taken(page_cluster: EmbeddedCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(page_cluster, "--port", str(port)) as process:
            found = urlsplit(line(process.stdout)).port
            assert found is not None
            assert port < found <= port + 20
            process.send_signal(signal.SIGINT)
            assert f"port {port} is in use: using {found}" in process.communicate(timeout=30)[1]


def test_a_namespace_leads_to_its_jobs(page_cluster: EmbeddedCluster) -> None:
    with started(page_cluster, "--port", "0", "-n", "default") as process:
        parts = urlsplit(line(process.stdout))
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        connection.request("GET", f"{parts.path}?{parts.query}")
        assert connection.getresponse().headers["Location"] == "/jobs?namespace=default"


@pytest.mark.slow
def test_an_embedded_cluster_is_started_when_none_is_named(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path / "state")
    try:
        with started(cluster, "--port", "0") as process:
            link = line(process.stdout)
            assert urllib.request.urlopen(link.partition("/open")[0]).status == 200
            process.send_signal(signal.SIGINT)
            assert "started an embedded cluster" in process.communicate(timeout=30)[1]
        assert cluster.state.read_record() is not None, "the page ends, and the cluster does not"
    finally:
        cluster.down()


def test_without_the_scripts_of_others_the_command_is_named(
    page_cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"import pathlib, shunter.page.assets as a; a.require_vendor(pathlib.Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Get them with: make setup" in done.stderr


# In a cluster.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of the server (tls), of a proxy, and of a stranger whom another authority knows; ca.crt is of the first two."""
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = new_authority("ours"), new_authority("another")
    (folder / "ca.crt").write_bytes(authority.certificate)
    for name, issuer, hosts in (("tls", authority, ["127.0.0.1"]), ("proxy", authority, []), ("stranger", other, [])):
        pair = issue(issuer, name, hosts)
        (folder / f"{name}.crt").write_bytes(pair.certificate)
        (folder / f"{name}.key").write_bytes(pair.key)
    return folder


@contextmanager
def serving(cluster: EmbeddedCluster, certificates: Path, *arguments: str) -> Iterator[Callable[..., http.client.HTTPResponse]]:
    """A page with TLS, and a function that asks it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--kubeconfig", str(cluster.kubeconfig), "--bind-address", "127.0.0.1", "--port", str(port)]
    options += ["--tls-cert-dir", str(certificates), "--url", f"https://127.0.0.1:{port}", *arguments]
    with started(cluster, "serve", *options) as process:

        def ask(path: str, headers: dict[str, str] = {}, client: str = "", body: bytes = b"") -> http.client.HTTPResponse:  # noqa: B006
            context = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
            if client:
                context.load_cert_chain(certificates / f"{client}.crt", certificates / f"{client}.key")
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
            connection.request("POST" if body else "GET", path, body or None, headers)
            return connection.getresponse()

        eventually(lambda: process.poll() is not None or is_up(ask))
        assert process.poll() is None, process.communicate()
        yield ask


def is_up(ask: Callable[..., http.client.HTTPResponse]) -> bool:
    try:
        return ask("/healthz").status == 200
    except OSError:
        return False


def test_serve_with_tokens_sets_a_secure_cookie(page_cluster: EmbeddedCluster, certificates: Path) -> None:
    token = new_user(page_cluster, "ann")
    own = {"X-Shunter": "page", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    with serving(page_cluster, certificates, "--auth", "token", "--frame-ancestors", "https://kubeflow.example.com") as ask:
        assert ask("/api/session").status == 401, "the kubeconfig's own user is nobody's here"
        answer = ask("/api/login", own, body=json.dumps({"token": token}).encode())
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("__Host-shunter=")
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
        assert json.load(ask("/api/session", {"Cookie": cookie.partition(";")[0]}))["user"] == "ann"
        assert "frame-ancestors https://kubeflow.example.com;" in ask("/").headers["Content-Security-Policy"]


def test_streams_over_a_network_are_packed(page_cluster: EmbeddedCluster, certificates: Path) -> None:
    token = {"Authorization": f"Bearer {new_user(page_cluster, 'ann')}", "Accept-Encoding": "gzip"}
    with serving(page_cluster, certificates, "--auth", "token") as ask:
        answer = ask("/api/live?view=jobs", token)
        assert answer.headers["Content-Encoding"] == "gzip"
        unpacked, unpacker = b"", zlib.decompressobj(16 + zlib.MAX_WBITS)
        while b"event: snapshot" not in unpacked:
            unpacked += unpacker.decompress(answer.read1())
        assert json.loads(unpacked.partition(b"data: ")[2].partition(b"\n")[0])["session"]["user"] == "ann"


def test_serve_behind_a_proxy_that_shows_its_certificate(page_cluster: EmbeddedCluster, certificates: Path) -> None:
    ann = {"kubeflow-userid": "ann"}
    options = ("--auth", "proxy", "--proxy-client-ca", str(certificates / "ca.crt"))
    with serving(page_cluster, certificates, *options) as ask:
        assert json.load(ask("/api/session", ann, client="proxy"))["user"] == "ann"
        assert ask("/api/session", ann).status == 401
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            ask("/api/session", ann, client="stranger")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--auth", "proxy"], "any client that reaches this port could impersonate any viewer"),
        (["--auth", "proxy", "--proxy-client-ca", "FILE"], "client certificates need TLS"),
        (["--auth", "proxy", "--proxy-secret-file", "FILE"], "it has 5 bytes"),
        (["--url", "http://shunter.example.com"], "http is allowed only on this machine"),
        (["--url", "shunter.example.com"], "not the address of a page"),
        (["--frame-ancestors", "*"], "not an origin"),
        (["--server", "http://api.example.com"], "tokens are sent by https only"),
    ],
)
def test_serve_refuses_what_would_not_be_safe(
    page_cluster: EmbeddedCluster, tmp_path: Path, arguments: list[str], told: str
) -> None:
    (tmp_path / "file").write_text("short")
    words = [str(tmp_path / "file") if word == "FILE" else word for word in arguments]
    if "--server" not in words:
        words += ["--kubeconfig", str(page_cluster.kubeconfig)]
    done = page_cluster.shunter("ui", "serve", "--port", "0", *words)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
