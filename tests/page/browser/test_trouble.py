"""What the page does when the connection, the cluster or the rights go away, and when too many windows look."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import eventually
from page.browser import samples
from page.browser.chromium import Tab, logged_in, navigate
from page.browser.given import Given, page_with
from page.server import RunningPage, allow, new_user, page_of, revoke, running
from shunter.kube import kubeconfig
from shunter.kube.credentials import StaticCredentials, bearer
from shunter.page.access import sessions
from shunter.page.access.logins import LocalLogin, TokenLogin

pytestmark = [pytest.mark.integration, pytest.mark.browser]

Look = Callable[..., Tab]
BROKEN = ("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "401", "503")


def cookie_of(page: Page) -> dict[str, str]:
    (cookie,) = page.context.cookies()
    return {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}


def reload_with(tab: Tab, *events: tuple[str, Any]) -> None:
    """The server's event stream is one of these events, which does not end."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    tab.page.add_init_script(
        f"""
        const real = fetch;
        const body = new TextEncoder().encode({json.dumps(body)});
        window.fetch = (url, options) => String(url).startsWith("/api/live")
          ? Promise.resolve(new Response(new ReadableStream({{ start: (stream) => stream.enqueue(body) }})))
          : real(url, options);
        """
    )
    tab.page.reload()


@pytest.fixture
def other_page(page_cluster: EmbeddedCluster) -> Iterator[tuple[RunningPage, Given]]:
    """A page that a test may stop."""
    given = Given()
    page = page_with(given, page_cluster)
    with running(page):
        yield page, given


def test_rows_stay_with_their_age_while_the_server_is_away_and_are_current_again_after(
    browser: Browser, other_page: tuple[RunningPage, Given]
) -> None:
    served, given = other_page
    with logged_in(browser, served) as tab:
        expect(tab.page.locator("tr.row").first).to_be_visible()
        # As when it is killed: nobody is told.
        served.run(lambda: served.server._server.stop(0.1))
        expect(tab.page.get_by_text("No connection to the server of this page.")).to_be_visible(timeout=15_000)
        expect(tab.page.get_by_text("Shown as of ")).to_be_visible()
        expect(tab.page.locator("tr.row").first).to_be_visible()
        expect(tab.page.locator(".live")).to_have_text("reconnecting")
        given.rows["jobs"] = {"jobs": given.rows["jobs"]["jobs"][:2]}
        served.run(lambda: served.server.start("127.0.0.1", served.port))
        expect(tab.page.locator("tr.row")).to_have_count(2, timeout=20_000)
        expect(tab.page.locator(".live")).to_have_text("live")
        expect(tab.page.get_by_text("No connection to the server of this page.")).to_have_count(0)
        tab.expect_errors(*BROKEN)


def test_a_server_that_ends_leaves_rows_until_it_is_back_and_knows_nobody(
    browser: Browser, other_page: tuple[RunningPage, Given]
) -> None:
    served, _ = other_page
    with logged_in(browser, served) as tab:
        expect(tab.page.locator("tr.row").first).to_be_visible()
        served.run(served.server.stop)
        expect(tab.page.get_by_text("No connection to the server of this page.")).to_be_visible()
        expect(tab.page.locator("tr.row").first).to_be_visible()
        served.run(lambda: served.server.start("127.0.0.1", served.port))
        expect(tab.page.get_by_role("heading", name="Log in")).to_be_visible(timeout=30_000)
        expect(tab.page.get_by_text("shunter status", exact=True)).to_be_visible()
        tab.expect_errors("401", *BROKEN)


def test_a_cluster_that_goes_away_leaves_rows_and_returns(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    cluster = EmbeddedCluster(tmp_path_factory.mktemp("away") / "state", options=["--simulate"])
    cluster.up()
    with running(page_of(cluster)) as served, logged_in(browser, served) as tab:
        expect(tab.page.get_by_role("heading", name="No jobs yet")).to_be_visible()
        cluster.kill("apiserver")
        cluster.down()
        expect(tab.page.get_by_text("The cluster does not answer.")).to_be_visible(timeout=30_000)
        tab.expect_errors()


def test_rows_are_as_old_as_the_last_event_until_a_snapshot_comes(look: Look) -> None:
    """A tab was hidden for two hours; the server that it comes back to says that the cluster went away 3 seconds ago."""
    ages = look().page.evaluate(
        """async () => {
          const { Live } = await import("/assets/js/live.js");
          const snapshot = { session: { now: 0 }, rows: { jobs: [{ id: "1" }] } };
          const begin = Date.now();
          let hours = 0;
          Date.now = () => begin + hours * 3_600_000;
          const live = new Live();
          const ages = [];
          const note = () => ages.push(Math.round(live.staleFor("jobs") / 3600));
          live.change("connecting"), live.change("open"), note();
          live.take("snapshot", snapshot), note();
          hours = 2;
          live.change("connecting"), note();
          live.change("open"), note();
          live.take("gone", { collection: "jobs", since: 3, why: "away" }), note();
          live.take("snapshot", snapshot), note();
          live.take("gone", { collection: "jobs", since: 3600, why: "away" });
          live.take("gone", { collection: "jobs", since: 0, why: "still away" }), note();
          return ages;
        }"""
    )
    assert ages == [0, 0, 2, 2, 2, 0, 1]


def test_a_view_that_never_had_rows_says_that_the_cluster_is_away(look: Look) -> None:
    tab = look()
    reload_with(tab, ("gone", {"collection": "jobs", "since": 3, "why": "no route to host", "isAway": True}))
    expect(tab.page.get_by_text("The cluster does not answer.")).to_be_visible()
    expect(tab.page.get_by_text("no route to host")).to_be_visible()
    expect(tab.page.locator(".skeleton")).to_have_count(0)


SESSION = {"user": "ann", "cluster": "prod", "now": 0, "namespaces": [], "isReadOnly": False, "kubectl": "kubectl", "options": ""}
JOB = "/jobs/vision/PyTorchJob/bert-large"


def test_an_answer_that_could_not_be_had_is_not_a_cluster_that_is_away(look: Look) -> None:
    tab = look()
    why = "why: etcdserver: request timed out"
    gone = {"collection": "reading why", "since": 40, "why": why, "isAway": False}
    reload_with(tab, ("snapshot", {"session": SESSION, "rows": {"jobs": []}}), ("gone", gone))
    expect(tab.page.get_by_text("Not everything could be read.")).to_be_visible()
    expect(tab.page.locator(".notice")).to_contain_text(f"Shown as of 40s ago, retrying.{why}")
    expect(tab.page.locator(".live")).to_have_text("partly live")
    expect(tab.page.get_by_text("The cluster does not answer.")).to_have_count(0)


def test_a_job_that_may_not_be_read_or_shown_is_not_said_to_be_missing(look: Look, given: Given) -> None:
    role = {"what": "pytorchjobs", "consequence": "This job is not shown.", "role": "kind: Role", "isSubject": True}
    malformed = {"what": "PyTorchJob vision/bert-large", "consequence": "Another form.", "role": "", "isSubject": True}
    tab = look(JOB)
    for hidden, said in (
        (role, "You may not read this; whether it exists is unknown."),
        (malformed, "Could not be shown: PyTorchJob vision/bert-large."),
    ):
        reload_with(tab, ("snapshot", {"session": SESSION, "rows": {"job": []}}), ("hidden", [hidden]))
        expect(tab.page.get_by_text(said)).to_be_visible()
        expect(tab.page.get_by_text("There is no such job")).to_have_count(0)
    reload_with(tab, ("snapshot", {"session": SESSION, "rows": {"job": []}}), ("hidden", [{**role, "isSubject": False}]))
    expect(tab.page.get_by_text("There is no such job")).to_be_visible()


def test_the_page_of_a_migration_says_when_it_was_looked_at_and_looks_again(look: Look) -> None:
    page = look("/migration/vision/PyTorchJob/bert-large").page
    expect(page.get_by_text("as of ")).to_be_visible()
    with page.expect_response("**/api/migration/**"):
        page.get_by_role("button", name="Refresh").click()


def test_the_page_of_a_migration_asks_to_log_in_again(browser: Browser, other_page: tuple[RunningPage, Given]) -> None:
    served, _ = other_page
    with logged_in(browser, served, "/migration/vision/PyTorchJob/bert-large") as tab:
        expect(tab.page.get_by_text("as of ")).to_be_visible()
        session = served.session(cookie_of(tab.page))

        async def log_out() -> None:
            served.server.sessions.forget(session)

        served.run(log_out)
        tab.page.get_by_role("button", name="Refresh").click()
        expect(tab.page.get_by_role("heading", name="Log in")).to_be_visible()
        tab.expect_errors("401")


def test_a_state_that_no_migration_is_in_says_so(look: Look) -> None:
    page = look("/migration?state=finished").page
    expect(page.get_by_role("heading", name="No job is finished")).to_be_visible()
    page.get_by_role("button", name="Show all jobs").click()
    expect(page.locator(".wave tr.row").first).to_be_visible()


def test_what_could_not_be_shown_is_told_from_what_may_not_be_read(look: Look) -> None:
    session = {"user": "ann", "cluster": "prod", "now": 0, "namespaces": [], "isReadOnly": False}
    malformed = {"what": "PyTorchJob vision/odd", "consequence": "It is not as this version expects it.", "role": ""}
    forbidden = {"what": "nodes", "consequence": "No nodes are shown.", "role": "kind: ClusterRole"}
    tab = look()
    reload_with(tab, ("snapshot", {"session": session, "rows": {}}), ("hidden", [malformed]))
    expect(tab.page.get_by_text("Could not be shown: PyTorchJob vision/odd.")).to_be_visible()
    expect(tab.page.get_by_text("You may not read")).to_have_count(0)
    expect(tab.page.locator(".notice pre")).to_have_count(0)
    reload_with(tab, ("snapshot", {"session": session, "rows": {}}), ("hidden", [malformed, forbidden]))
    expect(tab.page.get_by_text("You may not read nodes.")).to_be_visible()
    expect(tab.page.locator(".notice pre")).to_have_count(1)


def test_what_pods_ask_for_is_not_nothing_where_it_is_not_known(look: Look, given: Given) -> None:
    rows = samples.cluster()
    unknown = {"gpus_asked": None, "cpu_asked": None, "memory_asked": None}
    nodes = [msgspec.structs.replace(node, **unknown) for node in rows["nodes"][:1]]
    summary = [msgspec.structs.replace(rows["cluster"][0], nodes=None, ready=None, gpus=None, gpus_asked=None)]
    given.rows["cluster"] = {**rows, "nodes": nodes, "cluster": summary}
    page = look("/cluster").page
    expect(page.locator(".facts")).to_contain_text("?nodes ready")
    expect(page.locator("tr").filter(has_text="node-0")).to_contain_text("? of 8? of 96? of 256 GiB")


def test_a_window_too_many_says_so(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    page = look().page
    monkeypatch.setattr(sessions, "MOST_STREAMS", 0)
    page.reload()
    expect(page.get_by_text("You have too many windows of this page open: close one and reload.")).to_be_visible()
    expect(page.locator(".live")).to_have_text("ended")


def test_the_view_of_one_migration_says_nothing_of_being_live(look: Look) -> None:
    page = look("/migration").page
    expect(page.locator(".live")).to_have_text("live")
    page.locator("td.c-name a").first.click()
    expect(page.locator(".sides")).to_be_visible()
    expect(page.locator(".live")).to_have_count(0)
    expect(page.locator(".where")).to_contain_text("embedded cluster")


def test_the_list_of_migrations_copies_whole_commands_and_shows_words_as_words(look: Look) -> None:
    page = look("/migration").page
    rows = page.locator(".wave tr.row")
    ready, made = rows.filter(has_text="vit"), rows.filter(has_text="dlrm")
    expect(ready.locator(".m-proof")).to_have_text("yaml")
    expect(ready.get_by_role("button", name="Copy command")).to_have_attribute("title", samples.APPLY)
    expect(made.locator(".c-why")).to_have_text("TrainJob dlrm Suspended: to start it, set spec.suspend to false")
    expect(made.get_by_role("button", name="Copy command")).to_have_count(0)


def test_who_logged_in_with_a_token_can_log_out(browser: Browser, page_cluster: EmbeddedCluster) -> None:
    login = TokenLogin(kubeconfig.load(page_cluster.kubeconfig))
    token = new_user(page_cluster, "visitor")
    with running(page_of(page_cluster, login, is_embedded=False)) as served:
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(f"{served.url}/login")
            page.get_by_role("textbox", name="Token").fill(token)
            page.get_by_role("button", name="Log in").click()
            page.get_by_role("button", name="Log out").click()
            page.wait_for_url("**/login")
            expect(page.get_by_role("textbox", name="Token")).to_be_visible()
            expect(page.get_by_role("button", name="Log out")).to_have_count(0)
            assert context.cookies() == []
            # The proxy in front would send it again.
            sent = served.ask("GET", "/api/session", headers={"Authorization": f"Bearer {token}"}).json
            assert sent["canLogOut"] is False
        finally:
            context.close()


def test_a_token_that_expires_is_said_once_and_leads_to_the_login(browser: Browser, page_cluster: EmbeddedCluster) -> None:
    token = new_user(page_cluster, "shortlived")
    with running(page_of(page_cluster, TokenLogin(kubeconfig.load(page_cluster.kubeconfig)), is_embedded=False)) as served:
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(f"{served.url}/login")
            page.get_by_role("textbox", name="Token").fill(token)
            page.get_by_role("button", name="Log in").click()
            expect(page.locator(".live.open")).to_be_visible()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            session = served.session(cookie_of(page))  # before: a page that asks by itself may end it at once
            revoke(page_cluster, token)
            served.review(session)
            expect(page.get_by_role("alert")).to_have_text("Your login has expired.")
            expect(page.get_by_role("textbox", name="Token")).to_be_visible()
            page.wait_for_timeout(2000)
            assert len(asked) <= 2, f"it goes on asking: {asked}"
        finally:
            context.close()


def test_a_session_that_ends_leads_to_the_login(browser: Browser, other_page: tuple[RunningPage, Given]) -> None:
    served, _ = other_page
    with logged_in(browser, served) as tab:
        answer = tab.page.evaluate(
            "() => fetch('/api/logout', {method: 'POST', body: '{}', "
            "headers: {'x-shunter': 'page', 'content-type': 'application/json'}}).then((a) => a.status)"
        )
        assert answer == 200
        expect(tab.page.get_by_role("heading", name="Log in")).to_be_visible()
        expect(tab.page.get_by_role("alert")).to_have_text("You are logged out.")
        tab.expect_errors("401")


def test_what_is_hidden_is_said_with_the_role_that_would_show_it(
    browser: Browser, page_cluster: EmbeddedCluster, page_namespace: str
) -> None:
    token = new_user(page_cluster, "reader")
    allow(page_cluster, "reader", page_namespace)
    connection = dataclasses.replace(kubeconfig.load(page_cluster.kubeconfig), credentials=StaticCredentials(bearer(token)))
    served = page_of(page_cluster, LocalLogin(connection), namespaces=(page_namespace,))
    with running(served), logged_in(browser, served) as tab:
        expect(tab.page.get_by_text("1 namespace shown; others are hidden from you.")).to_be_visible()
        tab.page.locator("summary").first.click()
        expect(tab.page.locator("details pre").first).to_contain_text("kind: ClusterRole")
        expect(tab.page.get_by_text("No jobs yet")).to_have_count(0)


def test_of_seven_windows_five_are_live_and_the_others_say_so(browser: Browser, given_page: RunningPage, given: Given) -> None:
    with logged_in(browser, given_page) as first, ExitStack() as stack:
        pages = [first.page]
        for _ in range(6):
            pages.append(first.page.context.new_page())
            stack.callback(pages[-1].close)
            pages[-1].goto(f"{given_page.url}/jobs")

        def showing(selector: str) -> list[Page]:
            return [page for page in pages if not page.is_closed() and page.locator(selector).count()]

        eventually(lambda: (len(showing("tr.row")), len(showing("text=Not live in this window."))) == (5, 2))
        # One that is closed makes room for one that waits.
        showing("tr.row")[-1].close()
        eventually(lambda: (len(showing("tr.row")), len(showing("text=Not live in this window."))) == (5, 1))


def test_a_hidden_window_holds_no_stream(browser: Browser, given_page: RunningPage) -> None:
    with logged_in(browser, given_page) as tab:
        session = given_page.session(cookie_of(tab.page))
        tab.page.evaluate(
            """() => {
              Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
              document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
        eventually(lambda: session.streams == 0)
        tab.page.evaluate("() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }")
        eventually(lambda: session.streams == 1)
        expect(tab.page.locator(".live")).to_have_text("live")


def test_after_a_laptop_has_slept_a_stream_that_says_nothing_is_opened_again(look: Look, given: Given) -> None:
    """Nobody told either side that the connection is dead: no beat came for longer than the server is ever silent."""
    page = look().page
    expect(page.locator("tr.row").first).to_be_visible()
    page.clock.install()
    # The wait for the next event begins with the last one.
    given.rows["jobs"] = {"jobs": given.rows["jobs"]["jobs"][:3]}
    expect(page.locator("tr.row")).to_have_count(3)
    with page.expect_request("**/api/live?*"):
        page.clock.fast_forward(41_000)
    given.rows["jobs"] = {"jobs": given.rows["jobs"]["jobs"][:2]}
    expect(page.locator("tr.row")).to_have_count(2)
    expect(page.locator(".live")).to_have_text("live")


def test_a_connection_that_says_nothing_any_more_is_not_live(look: Look) -> None:
    """As behind a network that drops packets: neither the stream nor what opens it again ever fails."""
    tab = look()
    snapshot = f"event: snapshot\ndata: {json.dumps({'session': SESSION, 'rows': {'jobs': []}})}\n\n"
    tab.page.clock.install()
    tab.page.add_init_script(
        f"""
        const real = fetch;
        const pieces = [new TextEncoder().encode({json.dumps(snapshot)})];
        window.fetch = (url, {{ signal, ...options }} = {{}}) => {{
          if (!String(url).startsWith("/api/live")) return real(url, options);
          const piece = pieces.pop();
          if (!piece) return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          return Promise.resolve(new Response(new ReadableStream({{
            start: (stream) => (stream.enqueue(piece), signal.addEventListener("abort", () => stream.error(signal.reason))),
          }})));
        }};
        """
    )
    tab.page.reload()
    expect(tab.page.locator(".live")).to_have_text("live")
    for seconds in (26, 41, 41):
        tab.page.clock.fast_forward(seconds * 1000)
        expect(tab.page.locator(".live")).to_have_text("reconnecting")
        expect(tab.page.get_by_text("No connection to the server of this page.")).to_be_visible()


def test_a_page_that_loads_slowly_says_so_until_it_is_there(look: Look) -> None:
    """At 50 kbit/s there was an empty page for 15 seconds."""
    page = look().page
    held: list[Route] = []
    is_slow = True
    page.route("**/assets/js/app.js", lambda route: held.append(route) if is_slow else route.continue_())
    page.reload(wait_until="commit")
    expect(page.get_by_text("Loading the page.")).to_be_visible()
    is_slow = False
    for route in held:
        route.continue_()
    expect(page.locator("tr.row").first).to_be_visible()
    expect(page.get_by_text("Loading the page.")).to_have_count(0)


def test_a_window_that_was_hidden_for_a_moment_holds_no_stream_when_it_is_hidden_again(
    browser: Browser, given_page: RunningPage
) -> None:
    with logged_in(browser, given_page) as tab:
        session = given_page.session(cookie_of(tab.page))
        tab.page.evaluate(
            """() => {
              let isHidden = false;
              Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
              window.hide = (hidden) => { isHidden = hidden; document.dispatchEvent(new Event("visibilitychange")); };
              hide(true);
              hide(false);
            }"""
        )
        eventually(lambda: session.streams == 1)
        expect(tab.page.locator(".live")).to_have_text("live")
        tab.page.evaluate("() => hide(true)")
        eventually(lambda: session.streams == 0)


@pytest.mark.skipif(not shutil.which("ip"), reason="network interfaces are made with ip, of the package iproute2")
def test_network_interfaces_that_come_while_the_page_loads_do_not_break_it(browser: Browser, given_page: RunningPage) -> None:
    """As pods of the embedded cluster bring them: Chromium fails what is pending with ERR_NETWORK_CHANGED."""
    made = subprocess.run(["ip", "link", "add", "uiprobe0", "type", "veth", "peer", "name", "uiprobe1"], capture_output=True)
    if made.returncode:
        pytest.skip(f"this user may not make network interfaces: {made.stderr.decode().strip()}")
    flap = "ip addr add 10.254.77.1/30 dev uiprobe0; ip link set uiprobe0 up; ip addr flush dev uiprobe0; sleep 0.3"
    flapping = subprocess.Popen(["sh", "-c", f"while :; do {flap}; done"], stderr=subprocess.DEVNULL)
    context = browser.new_context()
    failed: list[str] = []
    try:
        page = context.new_page()
        page.on("requestfailed", lambda request: failed.append(request.url))
        navigate(page, given_page.login_url())
        for _ in range(5):
            navigate(page, f"{given_page.url}/jobs")
            expect(page.locator("main")).to_be_attached(timeout=15_000)
            if failed:
                break
    finally:
        flapping.kill()
        flapping.wait()
        subprocess.run(["ip", "link", "del", "uiprobe0"], check=True)
        context.close()
