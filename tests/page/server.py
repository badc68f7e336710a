"""The page in this process, beside a cluster: for tests of the server and of the browser.

def test_something(page: RunningPage):
    page.url                # http://127.0.0.1:43211
    page.login_url()        # .../open?code=...: logs a browser in, once
    page.cookie()           # what such a browser would send
    page.cluster.kubectl("apply", ...)
"""

from __future__ import annotations

import asyncio
import http.client
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import Cluster
from shunter.cluster.state_dir import write_private
from shunter.kube import kubeconfig
from shunter.page.access.guard import Settings, cookie_name, local_hosts
from shunter.page.access.logins import LocalLogin, Login
from shunter.page.access.sessions import Session
from shunter.page.calls import Calls
from shunter.page.server import PageServer
from shunter.page.tables import view_named
from shunter.page.views.view import OpenView, PageOptions

T = TypeVar("T")
KEY = b"k" * 32
SECONDS = 30.0
OWN = {"X-Shunter": "page", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
"""Headers that the page's own scripts send with what acts."""


class Answer(NamedTuple):
    """Header names are in lower case; one that came several times is joined by line breaks."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RunningPage:
    """A page on a port of 127.0.0.1, served by a thread of its own."""

    def __init__(self, server: PageServer, cluster: Cluster | None) -> None:
        self.server = server
        self._cluster = cluster
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def cluster(self) -> Cluster:
        assert self._cluster is not None
        return self._cluster

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def login_url(self) -> str:
        return f"{self.url}/open?code={self.server.new_code()}"

    def start(self) -> None:
        self._thread.start()
        self.port = self.run(lambda: self.server.start("127.0.0.1", 0))

    def stop(self) -> None:
        self.run(self.server.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Does it in the server's loop."""

        async def done() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(SECONDS)

    def ask(self, method: str, path: str, *, body: bytes = b"", headers: Mapping[str, str] = {}) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body or None, dict(headers))
            answer = connection.getresponse()
            found: dict[str, str] = {}
            for name, value in answer.getheaders():
                found[name.lower()] = f"{found[name.lower()]}\n{value}" if name.lower() in found else value
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def cookie(self) -> dict[str, str]:
        """Of a new session."""
        answer = self.ask("GET", f"/open?code={self.server.new_code()}")
        assert answer.status == 303, answer
        return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}

    def session(self, cookie: Mapping[str, str]) -> Session:
        found = self.server.sessions.find(cookie["Cookie"].partition("=")[2])
        assert found is not None
        return found

    def review(self, session: Session) -> None:
        """Asks at once what the viewer may see, instead of in a minute."""

        async def reviewed() -> None:
            for view in [*session._views.values()]:
                await view.review()

        self.run(reviewed)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[Iterator[tuple[str, Any]]]:
        """The events of a stream: name and data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            assert answer.status == 200, (answer.status, answer.read())
            assert answer.headers["Content-Type"] == "text/event-stream"
            yield events(answer)
        finally:
            connection.close()


def events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Until the server ends the stream."""
    name = ""
    while line := answer.readline():
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def rows_of(stream: Iterator[tuple[str, Any]], until: Callable[[dict[str, dict[str, Any]]], Any]) -> dict[str, dict[str, Any]]:
    """Rows by collection and id, once they are as `until` has them, by the rules that the page's scripts follow."""
    rows: dict[str, dict[str, Any]] = {}
    for name, data in stream:
        if name == "snapshot":
            rows = {collection: {row["id"]: row for row in found} for collection, found in data["rows"].items()}
        elif name == "delta":
            for collection, changes in data.items():
                rows.setdefault(collection, {}).update({row["id"]: row for row in changes["set"]})
                for gone in changes["del"]:
                    rows[collection].pop(gone, None)
        if until(rows):
            return rows
    raise AssertionError(f"the stream ended before that: {rows}")


def page_of(
    cluster: Cluster | None,
    login: Login | None = None,
    calls: Calls | None = None,
    view_named: Callable[[str], OpenView | None] = view_named,
    **options: Any,
) -> RunningPage:
    """A page for the cluster, not started, for its administrator unless `login` says otherwise; `options` are those of
    `PageOptions`, and `calls` what other routes than the streams do. With a login of its own there may be no cluster."""
    if login is None:
        assert cluster is not None
        login = LocalLogin(kubeconfig.load(cluster.kubeconfig))
    kind = "embedded" if cluster is None else cluster.kind
    own = PageOptions(**{"cluster": f"{kind} cluster", "is_embedded": kind == "embedded", **options})
    others: dict[str, Any] = {} if calls is None else {"calls": lambda: calls}

    def settings(port: int) -> Settings:
        return Settings(local_hosts(port), cookie_name(port, is_secure=False))

    return RunningPage(PageServer(login, own, settings, key=KEY, view_named=view_named, **others), cluster)


@contextmanager
def running(page: RunningPage) -> Iterator[RunningPage]:
    page.start()
    try:
        yield page
    finally:
        page.stop()


def new_user(cluster: EmbeddedCluster, name: str, *groups: str) -> str:
    """A token of a user who may do nothing yet."""
    tokens = json.loads(cluster.state.tokens.read_bytes())
    token = f"{name}-{secrets.token_hex(16)}"
    tokens[token] = {"user": name, "groups": [*groups, "system:authenticated"]}
    write_private(cluster.state.tokens, json.dumps(tokens).encode())
    return token


def revoke(cluster: EmbeddedCluster, token: str) -> None:
    """The API server does not know it from now on."""
    tokens = json.loads(cluster.state.tokens.read_bytes())
    del tokens[token]
    write_private(cluster.state.tokens, json.dumps(tokens).encode())


def allow(cluster: Cluster, user: str, namespace: str, *resources: str) -> None:
    """Lets a user read all in a namespace, or these resources."""
    rules = [{"apiGroups": ["*"], "resources": [*(resources or ("*",))], "verbs": ["get", "list", "watch"]}]
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "read", "namespace": namespace}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"read-{user.rpartition(':')[2]}", "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "read"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
    }
    cluster.apply(role, binding)
