"""The page as a pod of the cluster that it shows, from the manifests of `shunter install`: every viewer has their own rights."""

from __future__ import annotations

import http.client
import json
import re
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import expect

from e2e.running_cluster import Cluster
from e2e.test_page import pytorch_job
from page.browser.chromium import browsing
from page.server import allow, events
from shunter.kube.tls.certificates import issue, new_authority

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

Json = dict[str, Any]
HOST = "shunter.example.com"
SECRET = "0123456789abcdef0123"
TRAINS = "print('step 1/9 loss 0.5', flush=True); import time; time.sleep(600)"


def install(cluster: Cluster, namespace: str, directory: Path, ui: Json) -> None:
    """The page's objects of an installation, whose operator is in the cluster already; returns when its pod is ready."""
    values = directory / "values.yaml"
    values.write_text(yaml.safe_dump({"ui": {"enabled": True, "host": HOST, **ui}}))
    done = cluster.shunter("install", "--dry-run", "-o", "json", "-n", namespace, "--values", str(values))
    assert done.returncode == 0, done.stderr
    mine = [obj for obj in json.loads(done.stdout)["items"] if obj["metadata"]["name"] == "shunter-ui"]
    cluster.apply(*mine)
    cluster.kubectl("rollout", "status", "deployment/shunter-ui", "-n", namespace, "--timeout=90s", timeout=120)


@contextmanager
def forwarded(cluster: Cluster, namespace: str) -> Iterator[int]:
    """The port of this machine that leads to the page's Service."""
    process = cluster.start_kubectl("port-forward", "service/shunter-ui", "-n", namespace, "--address=127.0.0.1", ":80")
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None
        yield int(found[1])
    finally:
        process.kill()
        process.communicate()


class Viewer:
    """Asks the page with headers that never change."""

    def __init__(self, port: int, **headers: str) -> None:
        self._port = port
        self._headers = {"Host": HOST, **headers}

    def ask(self, path: str) -> tuple[int, Any]:
        """Status and answer."""
        with self._answer(path) as answer:
            return answer.status, json.loads(answer.read())

    def jobs(self, namespace: str) -> set[str]:
        """Names of those in a namespace, once any are shown; none where the page says that they are hidden."""
        with self._answer(f"/api/live?view=jobs&namespace={namespace}") as answer:
            assert answer.status == 200, answer.read()
            for name, data in events(answer):
                if name == "hidden" and any("pytorchjobs" in one["what"] for one in data):
                    return set()
                rows = data["rows"]["jobs"] if name == "snapshot" else data.get("jobs", {}).get("set") if name == "delta" else ()
                if rows:
                    return {row["name"] for row in rows}
        raise AssertionError("the stream ended before that")

    @contextmanager
    def _answer(self, path: str) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", path, headers=self._headers)
            yield connection.getresponse()
        finally:
            connection.close()


class _Pipe(socketserver.BaseRequestHandler):
    """One connection with TLS, passed on without."""

    server: Ingress

    def handle(self) -> None:
        with (
            suppress(OSError),
            self.server.context.wrap_socket(self.request, server_side=True) as outer,
            socket.create_connection(("127.0.0.1", self.server.upstream)) as inner,
        ):
            back = threading.Thread(target=self._pass_on, args=(inner, outer))
            back.start()
            self._pass_on(outer, inner)
            back.join()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


class Ingress(socketserver.ThreadingTCPServer):
    """Ends TLS for `HOST` on a port of this machine, in front of another port of it."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: int, directory: Path) -> None:
        self.upstream = upstream
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = issue(new_authority("ours"), "ingress", [HOST])
        for name, text in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
            (directory / name).write_bytes(text)
        self.context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
        super().__init__(("127.0.0.1", 0), _Pipe)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @contextmanager
    def running(self) -> Iterator[None]:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()


def account(cluster: Cluster, namespace: str, name: str) -> tuple[str, str]:
    """The user name of a service account, and a token of it."""
    cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
    token = cluster.kubectl("create", "token", name, "-n", namespace).strip()
    return f"system:serviceaccount:{namespace}:{name}", token


def test_with_tokens_everyone_sees_what_their_token_may(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    cluster.apply(pytorch_job(namespace, "bert", TRAINS))
    ann, token = account(cluster, namespace, "ann")
    bob, other = account(cluster, namespace, "bob")
    allow(cluster, ann, namespace)
    install(cluster, namespace, tmp_path, {})
    with forwarded(cluster, namespace) as port:
        assert Viewer(port).ask("/api/session")[0] == 401, "the pod's own account is nobody's"
        assert Viewer(port, Host="elsewhere.example.com").ask("/api/session")[0] == 421
        assert Viewer(port, Authorization=f"Bearer {token}").ask("/api/session")[1]["user"] == ann
        assert Viewer(port, Authorization=f"Bearer {token}").jobs(namespace) == {"bert"}
        assert Viewer(port, Authorization=f"Bearer {other}").ask("/api/session")[1]["user"] == bob
        assert Viewer(port, Authorization=f"Bearer {other}").jobs(namespace) == set()
        ingress = Ingress(port, tmp_path)
        with ingress.running():
            sees_by_the_form(ingress.port, namespace, token)


def sees_by_the_form(port: int, namespace: str, token: str) -> None:
    """In a browser, through an ingress with TLS."""
    with browsing(f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{port}") as browser:
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.goto(f"https://{HOST}/jobs?namespace={namespace}")
        page.get_by_role("textbox", name="Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("tr.row")).to_contain_text("bert", timeout=30_000)
        expect(page.locator(".live")).to_have_text("live")
        (cookie,) = context.cookies()
        assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == ("__Host-shunter", True, True)
        page.get_by_role("link", name="bert").click()
        expect(page.locator(".log")).to_contain_text("step 1/9 loss 0.5", timeout=30_000)
        expect(page.get_by_role("button", name="Copy as kubectl")).to_be_visible()
        expect(page.get_by_role("button", name="Delete")).to_have_count(0)


def test_behind_a_proxy_everyone_is_who_the_proxy_says(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    cluster.apply(pytorch_job(namespace, "bert", TRAINS))
    cluster.kubectl("create", "secret", "generic", "front", "-n", namespace, f"--from-literal=secret={SECRET}")
    allow(cluster, "ann", namespace)
    proxy = {"secretName": "front", "groupsHeader": "x-groups", "groups": ["platform"]}
    install(cluster, namespace, tmp_path, {"auth": "proxy", "proxy": proxy})
    proof = {"X-Shunter-Proxy-Secret": SECRET}
    try:
        with forwarded(cluster, namespace) as port:
            assert Viewer(port, **{"kubeflow-userid": "ann"}).ask("/api/session")[0] == 401, "anybody could say so"
            assert Viewer(port, **proof, **{"kubeflow-userid": "ann"}).ask("/api/session")[1]["user"] == "ann"
            assert Viewer(port, **proof, **{"kubeflow-userid": "ann"}).jobs(namespace) == {"bert"}
            grouped = {"kubeflow-userid": "ann", "x-groups": "platform"}
            assert Viewer(port, **proof, **grouped).jobs(namespace) == {"bert"}
            assert Viewer(port, **proof, **{"kubeflow-userid": "bob"}).jobs(namespace) == set()
            assert Viewer(port, **proof, **{"kubeflow-userid": "system:admin"}).ask("/api/session")[0] == 403
    finally:
        cluster.kubectl("delete", "clusterrole,clusterrolebinding", "shunter-ui")
