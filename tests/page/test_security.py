"""What the page withstands, a test for each threat; those in which a browser takes part are in tests/page/browser."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import itertools
import json
import logging
import re
import socket
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import eventually
from page.jobs import pytorch_job
from page.server import OWN, RunningPage, allow, new_user, page_of, revoke, rows_of, running
from shunter.kube import kubeconfig
from shunter.kube.errors import Forbidden, ServerProblem, Status
from shunter.kube.kubeconfig import Connection
from shunter.page.access.logins import LocalLogin, ProxyLogin, ProxyRules, TokenLogin
from shunter.page.access.sessions import MOST_SESSIONS, MOST_STREAMS
from shunter.page.addresses import ROUTES
from shunter.page.calls import Calls, LogQuery
from shunter.page.refresh.view_refresh import REVIEW_SECONDS
from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import ActionRequest, Answer, JobMigrationDetail, LogLines

pytestmark = pytest.mark.integration

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
JOB = "team-a/PyTorchJob/bert"
PATHS = {
    "open": "/open?code=x",
    "shell": "/jobs",
    "asset": "/assets/shell.html",
    "session": "/api/session",
    "login": "/api/login",
    "logout": "/api/logout",
    "live": "/api/live?view=none",
    "log_file": f"/api/logs/{JOB}.txt",
    "logs": f"/api/logs/{JOB}",
    "yaml": f"/api/yaml/{JOB}/pods/bert-worker-0",
    "job_migration": f"/api/migration/{JOB}",
    "act": "/api/actions/delete",
}
ACTION = b'{"kind":"PyTorchJob","namespace":"team-a","name":"bert","uid":"u","resourceVersion":"1"}'


class Recorded:
    """Calls of the page that do nothing but say that they were made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    @property
    def calls(self) -> Calls:
        return Calls(self.follow_logs, self.log_file, self.yaml, self.act, self.job_migration)

    async def follow_logs(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[LogLines]:
        self.made.append("logs")
        yield LogLines(lines=())

    async def log_file(self, viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        self.made.append("log_file")
        yield b"line\n"

    async def yaml(self, viewer: Viewer, job: Parameters, pod: str, *, reveal: bool) -> str:
        self.made.append("yaml")
        return "kind: PyTorchJob"

    async def act(self, viewer: Viewer, action: str, request: ActionRequest) -> Answer:
        self.made.append("act")
        return Answer(message="done")

    async def job_migration(self, viewer: Viewer, job: Parameters) -> JobMigrationDetail:
        self.made.append("job_migration")
        raise NotImplementedError


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture(scope="module")
def offline(recorded: Recorded) -> Iterator[tuple[RunningPage, Upstream]]:
    """A page whose API server only counts who connects."""
    upstream = Upstream()
    login = LocalLogin(Connection(server=f"http://127.0.0.1:{upstream.port}"))
    with running(page_of(None, login, recorded.calls)) as page:
        yield page, upstream
    upstream.close()


class Upstream:
    """Takes connections and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]

    def connections(self) -> int:
        """Since the last look."""
        count = 0
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def close(self) -> None:
        self._socket.close()


def test_every_route_has_a_path_here() -> None:
    assert PATHS.keys() == {route.name for route in ROUTES}


def test_dns_rebinding(page: RunningPage) -> None:
    cookie = page.cookie()
    for path in PATHS.values():
        for host in ("evil.example", f"evil.example:{page.port}", f"127.0.0.1.evil.example:{page.port}", "127.0.0.1"):
            answer = page.ask("GET", path, headers={**cookie, "Host": host})
            assert answer.status == 421, (path, host)
            assert "set-cookie" not in answer.headers


def test_other_users_and_pods_on_the_machines_loopback(page: RunningPage) -> None:
    for route in ROUTES:
        if not route.is_open and route.name != "login":
            answer = page.ask(route.method, PATHS[route.name], headers=OWN, body=ACTION if route.method == "POST" else b"")
            assert answer.status == 401, route.name
    assert page.ask("GET", "/api/session", headers={"Cookie": f"shunter-{page.port}=guess"}).status == 401


def test_other_users_a_code_works_once(page: RunningPage) -> None:
    code = page.server.new_code()
    first = page.ask("GET", f"/open?code={code}")
    assert first.status == 303
    assert first.headers["location"] == "/"
    assert re.fullmatch(rf"shunter-{page.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict", first.headers["set-cookie"])
    again = page.ask("GET", f"/open?code={code}")
    assert again.status == 403
    assert "set-cookie" not in again.headers


ORIGINS = (
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
)


def test_csrf_every_method_of_every_route_from_every_origin(offline: tuple[RunningPage, Upstream], recorded: Recorded) -> None:
    page, _ = offline
    cookie = page.cookie()
    recorded.made.clear()
    open_names = {route.name for route in ROUTES if route.is_open}
    for method, (name, path), origin in itertools.product(METHODS, PATHS.items(), ORIGINS):
        headers = {**cookie, "X-Shunter": "page", "Content-Type": "application/json", **origin}
        answer = page.ask(method, path, body=ACTION if method in ("POST", "PUT", "PATCH") else b"", headers=headers)
        is_shell = name in open_names and method in ("GET", "HEAD")
        assert is_shell or answer.status in (403, 404, 405), (method, path, origin, answer.status)
        assert not any(header.startswith("access-control") for header in answer.headers)
    assert recorded.made == []
    assert page.session(cookie), "nothing has logged the viewer out"


def test_csrf_no_form_of_another_page_acts(offline: tuple[RunningPage, Upstream], recorded: Recorded) -> None:
    page, _ = offline
    cookie = page.cookie()
    recorded.made.clear()
    for left_out in ("X-Shunter", "Sec-Fetch-Site", "Content-Type"):
        headers = {**cookie, **{name: value for name, value in OWN.items() if name != left_out}}
        assert page.ask("POST", PATHS["act"], body=ACTION, headers=headers).status in (403, 415), left_out
    assert recorded.made == []
    assert page.ask("POST", PATHS["act"], body=ACTION, headers={**cookie, **OWN}).status == 200
    assert recorded.made == ["act"]


def test_reading_across_origins(page: RunningPage) -> None:
    cookie = page.cookie()
    for path in (*PATHS.values(), "/nothing"):
        for origin in ORIGINS:
            answer = page.ask("GET", path, headers={**cookie, **origin})
            assert not any(header.startswith("access-control") for header in answer.headers)
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert not path.startswith("/api/") or answer.status in (403, 405)


def test_xss_nothing_is_served_that_a_browser_would_run(page: RunningPage) -> None:
    answer = page.ask("GET", "/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    inline = re.findall(rb"<script[^>]*>([^<]+)</script>", answer.body)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in inline}
    assert hashes
    assert {word for word in policy.replace(";", " ").split() if word.startswith("'sha256-")} == hashes
    for path in ("/", "/api/session", "/nothing", "/api/live?view=<img>"):
        found = page.ask("GET", path, headers=page.cookie())
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["content-security-policy"] == policy
    refused = page.ask("GET", "/api/live?view=<img%20src=x>", headers=page.cookie())
    assert refused.headers["content-type"] == "application/json"


def test_clickjacking(page: RunningPage, page_cluster: EmbeddedCluster) -> None:
    for path in ("/", "/nothing", "/api/session"):
        assert "frame-ancestors 'none'" in page.ask("GET", path).headers["content-security-policy"]


@pytest.fixture(scope="module")
def token_page(page_cluster: EmbeddedCluster) -> Iterator[RunningPage]:
    login = TokenLogin(kubeconfig.load(page_cluster.kubeconfig))
    with running(page_of(page_cluster, login, is_embedded=False)) as page:
        yield page


def logged_in(page: RunningPage, token: str) -> dict[str, str]:
    answer = page.ask("POST", "/api/login", body=f'{{"token":"{token}"}}'.encode(), headers=OWN)
    assert answer.status == 200, answer
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_token_leak(
    token_page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = new_user(page_cluster, "ann")
    allow(page_cluster, "ann", page_namespace)
    page_cluster.apply(pytorch_job("bert", page_namespace))
    cookie, said = logged_in(token_page, token), []
    for path in PATHS.values():
        if "view=" in path:
            continue
        real = path.replace("team-a", page_namespace)
        for headers in (cookie, {"Authorization": f"Bearer {token}"}, {"Authorization": f"Basic {token}"}):
            answer = token_page.ask("GET", real, headers=headers)
            said.append(f"{answer.headers} {answer.body!r}")
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert not real.startswith("/api") or answer.headers["cache-control"] == "no-store"
    with token_page.stream(f"/api/live?view=jobs&namespace={page_namespace}", cookie) as stream:
        said.append(repr(rows_of(stream, lambda rows: rows.get("jobs"))))
    said.append(repr(token_page.ask("POST", "/api/login", body=f'{{"token":"{token}x"}}'.encode(), headers=OWN)))
    said.append(repr(token_page.ask("POST", "/api/login", body=f'{{"other":"{token}"}}'.encode(), headers=OWN)))
    assert not any(token in text for text in [*said, caplog.text])
    assert cookie["Cookie"].partition("=")[2] not in caplog.text


def test_one_viewer_sees_anothers_rows(token_page: RunningPage, page_cluster: EmbeddedCluster) -> None:
    users = {name: (new_user(page_cluster, name), f"of-{name}-{time.monotonic_ns()}") for name in ("ann", "ben")}
    cookies = {}
    page_cluster.create_namespace(*(namespace for _, namespace in users.values()))
    for name, (token, namespace) in users.items():
        allow(page_cluster, name, namespace)
        page_cluster.apply(pytorch_job(f"job-of-{name}", namespace))
        cookies[name] = logged_in(token_page, token)
    both = "&".join(f"namespace={namespace}" for _, namespace in users.values())
    for name, _ in zip(itertools.cycle(users), range(50)):
        with token_page.stream(f"/api/live?view=jobs&{both}", cookies[name]) as stream:
            first, data = next(stream)
            assert first == "snapshot"
            assert data["session"]["user"] == name
            assert {row["name"] for row in data["rows"]["jobs"]} <= {f"job-of-{name}"}
    with token_page.stream(f"/api/live?view=jobs&{both}", cookies["ann"]) as stream:
        rows_of(stream, lambda rows: rows.get("jobs"))
    # A bearer token goes before a cookie, and each token has a session of its own.
    who = token_page.ask("GET", "/api/session", headers={**cookies["ann"], "Authorization": f"Bearer {users['ben'][0]}"})
    assert who.json["user"] == "ben"


def test_without_credentials_nothing_is_asked_with_the_process_s_own_account(token_page: RunningPage) -> None:
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic YTpi"}):
        answer = token_page.ask("GET", "/api/session", headers=headers)
        assert answer.status == 401, headers
        assert answer.json["url"] == "/login"
        assert token_page.ask("GET", "/api/live?view=jobs", headers=headers).status == 401
    for token in ("", "nobody", "a b", "a\\r\\nImpersonate-User: admin"):
        assert token_page.ask("POST", "/api/login", body=f'{{"token":"{token}"}}'.encode(), headers=OWN).status == 401
    assert token_page.ask("GET", f"/open?code={token_page.server.new_code()}").status == 403, "codes are for laptops"


def test_rights_taken_away_while_open(token_page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    assert REVIEW_SECONDS <= 60
    token = new_user(page_cluster, "ann")
    allow(page_cluster, "ann", page_namespace)
    page_cluster.apply(pytorch_job("bert", page_namespace))
    cookie = logged_in(token_page, token)
    with token_page.stream(f"/api/live?view=jobs&namespace={page_namespace}", cookie) as stream:
        rows_of(stream, lambda rows: rows.get("jobs"))
        page_cluster.kubectl("delete", "rolebinding", "read-ann", "-n", page_namespace)
        token_page.review(token_page.session(cookie))
        is_empty, is_told = False, False
        for name, data in stream:
            if name == "snapshot":
                is_empty = data["rows"]["jobs"] == []
            elif name == "delta":
                is_empty = is_empty or bool(data["jobs"]["del"])
            elif name == "hidden":
                is_told = any("pytorchjobs.kubeflow.org" in one["what"] and page_namespace in one["what"] for one in data)
            if is_empty and is_told:
                break
        allow(page_cluster, "ann", page_namespace)
        token_page.review(token_page.session(cookie))
        for name, data in stream:
            if name in ("snapshot", "delta") and "bert" in repr(data["rows" if name == "snapshot" else "jobs"]):
                break


def test_a_token_that_expires_ends_the_streams(
    token_page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str
) -> None:
    token = new_user(page_cluster, "ann")
    allow(page_cluster, "ann", page_namespace)
    cookie = logged_in(token_page, token)
    with token_page.stream(f"/api/live?view=jobs&namespace={page_namespace}", cookie) as stream:
        assert next(stream)[0] == "snapshot"
        session = token_page.session(cookie)
        revoke(page_cluster, token)
        token_page.review(session)
        assert [event for event in stream if event[0] != "hidden"][-1] == ("end", {"why": "expired"})
    assert token_page.ask("GET", "/api/session", headers=cookie).status == 401


@pytest.mark.parametrize("bad", ["..", "%2e%2e", "a%2fb", "a%3fb", "a%0d%0ab", "a%20b", "A", "%00", "a" * 300, "-a", "a%5cb"])
def test_ssrf(offline: tuple[RunningPage, Upstream], recorded: Recorded, bad: str) -> None:
    page, upstream = offline
    cookie = {**page.cookie(), "Sec-Fetch-Site": "same-origin"}
    upstream.connections()
    recorded.made.clear()
    paths = [
        *(f"/api/{what}/{bad}/PyTorchJob/bert" for what in ("logs", "yaml", "migration")),
        *(f"/api/{what}/team-a/{bad}/bert" for what in ("logs", "yaml", "migration")),
        *(f"/api/{what}/team-a/PyTorchJob/{bad}" for what in ("logs", "yaml", "migration")),
        f"/api/logs/team-a/PyTorchJob/{bad}.txt",
        f"/api/yaml/team-a/PyTorchJob/bert/pods/{bad}",
        *(f"/api/live?view=jobs&{field}={bad}" for field in ("namespace", "kind", "name")),
        f"/api/live?view=jobs&namespace=good&namespace={bad}",
        f"/api/live?view={bad}",
        f"/api/logs/team-a/PyTorchJob/bert?ranks={bad}",
        f"/api/logs/team-a/PyTorchJob/bert?since={bad}",
    ]
    for path in paths:
        assert page.ask("GET", path, headers=cookie).status in (400, 404), path
    text = (
        bad.replace("%0d%0a", "\\r\\n").replace("%2f", "/").replace("%3f", "?").replace("%5c", "\\\\").replace("%00", "\\u0000")
    )
    for field in ("kind", "namespace", "name"):
        changed = f'"{field}":"{text}"'.replace("\\", r"\\")
        body = re.sub(rf'"{field}":"[^"]*"', changed, ACTION.decode())
        assert page.ask("POST", PATHS["act"], body=body.encode(), headers={**cookie, **OWN}).status == 400, body
    assert recorded.made == []
    assert upstream.connections() == 0


SECRET = b"a secret of the proxy's"
PROVEN = {"X-Shunter-Proxy-Secret": SECRET.decode()}


def test_impersonation_as_a_ladder(page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    allow(page_cluster, "ann", page_namespace)
    page_cluster.apply(pytorch_job("bert", page_namespace))
    rules = ProxyRules("kubeflow-userid", "x-groups", SECRET, needs_certificate=False)
    login = ProxyLogin(kubeconfig.load(page_cluster.kubeconfig), rules)
    with running(page_of(page_cluster, login, is_embedded=False)) as page:

        def status(*headers: tuple[str, str]) -> int:
            with socket.create_connection(("127.0.0.1", page.port), timeout=30) as connection:
                lines = ["GET /api/session HTTP/1.1", f"Host: {page.host}", "Connection: close"]
                lines += [f"{name}: {value}" for name, value in headers]
                connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
                return int(connection.makefile("rb").readline().split()[1])

        proof = ("X-Shunter-Proxy-Secret", SECRET.decode())
        ann = ("kubeflow-userid", "ann")
        assert status(proof, ann) == 200
        assert status(ann) == 401, "without the proof the header says nothing"
        assert status(("X-Shunter-Proxy-Secret", "guess"), ann) == 401
        assert status(proof) == 401
        assert status(proof, ("kubeflow-userid", "system:admin")) == 403
        assert status(proof, ann, ("x-groups", "devs,system:masters")) == 403
        assert status(proof, ann, ("x-groups", "System:Masters")) == 403
        assert status(proof, ("kubeflow-userid", "ann"), ("kubeflow-userid", "admin")) == 400
        assert status(proof, ann, ("x-groups", "devs"), ("x-groups", "admins")) == 400
        assert status(proof, ann, ("Impersonate-User", "admin"), ("Impersonate-Group", "system:masters")) == 200
        headers = {**PROVEN, "kubeflow-userid": "ann", "Impersonate-User": "admin"}
        assert page.ask("GET", "/api/session", headers=headers).json["user"] == "ann"
        with page.stream("/api/live?view=jobs", headers) as stream:
            name, data = next(stream)
            assert (name, data["rows"]["jobs"]) == ("snapshot", []), (
                "ann may not list all, and this process's own account is not used"
            )
        with page.stream(f"/api/live?view=jobs&namespace={page_namespace}", headers) as stream:
            rows_of(stream, lambda rows: rows.get("jobs"))


def test_many_streams_of_one_session(page: RunningPage) -> None:
    cookie = page.cookie()
    with ExitStack() as streams:
        for _ in range(MOST_STREAMS):
            stream = streams.enter_context(page.stream("/api/live?view=jobs", cookie))
            assert next(stream)[0] == "snapshot"
        with page.stream("/api/live?view=jobs", cookie) as one_more:
            assert [*one_more] == [("end", {"why": "too many streams"})]
        assert page.ask("GET", "/", headers=cookie).status == 200


def test_many_sessions(page_cluster: EmbeddedCluster) -> None:
    with running(page_of(page_cluster)) as page:
        first = page.cookie()
        with page.stream("/api/live?view=jobs", first) as stream:
            assert next(stream)[0] == "snapshot"
            for _ in range(MOST_SESSIONS + 5):
                page.cookie()
            assert len(page.server.sessions) == MOST_SESSIONS
            assert page.ask("GET", "/api/session", headers=first).status == 200, "who looks is not pushed out by who does not"


def test_token_leak_a_session_that_is_not_used_is_forgotten_without_another_request(
    page_cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.page.server.PURGE_SECONDS", 0.1)
    with running(page_of(page_cluster, idle_seconds=1.0)) as page:
        page.cookie()
        assert len(page.server.sessions) == 1
        eventually(lambda: not len(page.server.sessions))


def test_many_streams_slow_readers(page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    """500 who are connected and say nothing, 50 who read nothing: others see changes at once."""
    with running(page_of(page_cluster)) as page, ExitStack() as clients:
        for _ in range(500):
            clients.enter_context(socket.create_connection(("127.0.0.1", page.port), timeout=30))
        path = f"/api/live?view=jobs&namespace={page_namespace}"
        for _ in range(50 // MOST_STREAMS + 1):
            cookie = page.cookie()
            for _ in range(MOST_STREAMS - 1):
                stuck = clients.enter_context(socket.create_connection(("127.0.0.1", page.port), timeout=30))
                stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                stuck.sendall(f"GET {path} HTTP/1.1\r\nHost: {page.host}\r\nCookie: {cookie['Cookie']}\r\n\r\n".encode())
        with page.stream(path, page.cookie()) as stream:
            assert next(stream)[0] == "snapshot"
            page_cluster.apply(*(pytorch_job(f"job-{number}", page_namespace) for number in range(10)))
            rows_of_all(stream, 10)


def rows_of_all(stream: Iterator[tuple[str, object]], count: int) -> None:
    rows_of(itertools.chain([("snapshot", {"rows": {"jobs": []}})], stream), lambda rows: len(rows["jobs"]) == count)


def test_a_stuck_reader_is_cut(monkeypatch: pytest.MonkeyPatch, page_cluster: EmbeddedCluster) -> None:
    monkeypatch.setattr("shunter.page.streams.STUCK_SECONDS", 0.2)

    async def endless(viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        while True:
            await asyncio.sleep(0)
            yield b"x" * 65536

    with running(page_of(page_cluster, calls=Recorded().calls._replace(log_file=endless))) as page:
        cookie = page.cookie()
        with socket.create_connection(("127.0.0.1", page.port), timeout=30) as stuck:
            request = f"GET {PATHS['log_file']} HTTP/1.1\r\nHost: {page.host}\r\nCookie: {cookie['Cookie']}\r\n\r\n"
            stuck.sendall(request.encode())
            stuck.recv(1)
            deadline = time.monotonic() + 30
            while page.session(cookie).streams:
                assert time.monotonic() < deadline, "the stream goes on though nobody reads it"
                time.sleep(0.05)


def test_actions_on_what_was_not_seen(page: RunningPage, page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    """The job is deleted and made again under its name between the look and the click."""
    page_cluster.apply(pytorch_job("bert", page_namespace))
    seen = page_cluster.get("pytorchjob", "bert", "-n", page_namespace)["metadata"]
    page_cluster.kubectl("delete", "pytorchjob", "bert", "-n", page_namespace)
    page_cluster.apply(pytorch_job("bert", page_namespace))
    asked = {"kind": "PyTorchJob", "namespace": page_namespace, "name": "bert"}
    body = json.dumps({**asked, "uid": seen["uid"], "resourceVersion": seen["resourceVersion"]}).encode()
    for action in ("delete", "suspend"):
        answer = page.ask("POST", f"/api/actions/{action}", body=body, headers={**page.cookie(), **OWN})
        assert answer.status == 409, answer
    assert page_cluster.get("pytorchjob", "bert", "-n", page_namespace)["metadata"]["uid"] != seen["uid"]


def test_read_only(page_cluster: EmbeddedCluster, recorded: Recorded) -> None:
    with running(page_of(page_cluster, calls=recorded.calls, is_read_only=True)) as page:
        recorded.made.clear()
        answer = page.ask("POST", PATHS["act"], body=ACTION, headers={**page.cookie(), **OWN})
        assert answer.status == 403
        assert recorded.made == []
        assert page.ask("GET", "/api/session", headers=page.cookie()).json["isReadOnly"] is True


def test_an_answer_that_cannot_be_completed_is_cut_and_not_taken_for_whole(page_cluster: EmbeddedCluster) -> None:
    async def broken(viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        yield b"first line\n"
        raise ServerProblem(Status(code=500, message="the node does not answer"))

    with (
        running(page_of(page_cluster, calls=Recorded().calls._replace(log_file=broken))) as page,
        pytest.raises(http.client.IncompleteRead),
    ):
        page.ask("GET", PATHS["log_file"], headers=page.cookie())


def test_what_is_refused_before_the_first_piece_is_an_answer(page_cluster: EmbeddedCluster) -> None:
    async def refused(viewer: Viewer, job: Parameters, query: LogQuery) -> AsyncGenerator[bytes]:
        for status in (403,):
            raise Forbidden(Status(code=status, message="pods/log is forbidden"))
        yield b""

    with running(page_of(page_cluster, calls=Recorded().calls._replace(log_file=refused))) as page:
        answer = page.ask("GET", PATHS["log_file"], headers=page.cookie())
        assert (answer.status, answer.json["message"]) == (403, "pods/log is forbidden")
