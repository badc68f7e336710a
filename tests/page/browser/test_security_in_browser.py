"""What the page withstands, where a browser takes part in it; the others are in tests/page/test_security.py."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from page.browser import samples
from page.browser.chromium import FOREIGN_HOST, Tab
from page.browser.given import Given
from page.server import RunningPage
from shunter.page import wire
from shunter.page.record import opener
from shunter.page.wire import LogLines

pytestmark = [pytest.mark.integration, pytest.mark.browser]

Look = Callable[..., Tab]
ASSETS = Path(wire.__file__).parent / "assets"
BERT = "/jobs/vision/PyTorchJob/bert-large"
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script><b id=injected>b</b>"
NASTY = f"{MARKUP} javascript:alert(3) \u202eevil\u202c {{{{7*7}}}} &lt;i&gt;"


class ForeignSite(http.server.ThreadingHTTPServer):
    """Another site on this machine: one page, with any content."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Foreign)
        self.content = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Foreign(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, ForeignSite)
        body = f"<!doctype html><meta charset=utf-8><title>foreign</title>{self.server.content}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def foreign() -> Iterator[ForeignSite]:
    site = ForeignSite()
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield site
    site.shutdown()
    site.server_close()


def test_a_file_that_leads_to_the_page_logs_in(browser: Browser, given_page: RunningPage, tmp_path: Path) -> None:
    """Its command line holds no code (tests/page/test_command.py)."""
    file = tmp_path / "page.html"
    file.write_text(opener(given_page.login_url()))
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_url(f"{given_page.url}/**")
    expect(page.get_by_role("heading", name="Jobs")).to_be_attached()
    assert "code" not in page.url
    page.close()


def test_dns_rebinding_in_chromium(browser: Browser, given_page: RunningPage) -> None:
    """A foreign name that leads to us, as a rebinding attacker has it."""
    page = browser.new_page()
    answer = page.goto(f"http://{FOREIGN_HOST}:{given_page.port}/jobs")
    assert answer is not None
    assert answer.status == 421
    page.close()


def test_csrf_a_form_of_another_page_does_not_act(
    look: Look, given: Given, given_page: RunningPage, foreign: ForeignSite
) -> None:
    tab = look()
    page = tab.page
    for encoding in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        foreign.content = (
            f'<form method=post enctype="{encoding}" action="{given_page.url}/api/actions/delete">'
            """<input name='{"kind":"PyTorchJob","namespace":"vision","name":"bert-large","uid":"bert",' value='"""
            """"resourceVersion":"7"}'><button>go</button></form>"""
        )
        page.goto(foreign.url)
        with page.expect_navigation() as navigation:
            page.get_by_role("button").click()
        assert navigation.value.status == 403
    assert given.requests == []
    tab.expect_errors("403", "404")  # the latter for favicon.ico


def test_csrf_fetch_of_another_page_does_not_act(look: Look, given: Given, given_page: RunningPage, foreign: ForeignSite) -> None:
    tab = look()
    tab.page.goto(foreign.url)
    for mode, headers in (("cors", "{'content-type': 'application/json', 'x-shunter': 'page'}"), ("no-cors", "{}")):
        outcome = tab.page.evaluate(
            f"""() => fetch("{given_page.url}/api/actions/delete", {{method: "POST", credentials: "include", mode: "{mode}",
              headers: {headers}, body: "{{}}"}}).then((answer) => answer.type + answer.status, () => "refused")"""
        )
        assert outcome in ("refused", "opaque0")
    assert given.requests == []
    tab.errors.clear()


def test_reading_across_origins_in_chromium(look: Look, given_page: RunningPage, foreign: ForeignSite) -> None:
    tab = look()
    for sandbox in ("", 'sandbox="allow-scripts"'):
        foreign.content = f'<iframe {sandbox} srcdoc="<script>0</script>"></iframe>'
        tab.page.goto(foreign.url)
        frame = tab.page.frames[-1]
        for url in (f"{given_page.url}/api/session", f"{given_page.url}/api/yaml/vision/PyTorchJob/bert-large"):
            assert (
                frame.evaluate(f"() => fetch('{url}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')")
                == "refused"
            )
        stream = f"{given_page.url}/api/live?view=jobs"
        outcome = frame.evaluate(
            f"""() => new Promise((resolve) => {{
              const source = new EventSource("{stream}", {{withCredentials: true}});
              source.onerror = () => resolve("refused");
              source.addEventListener("snapshot", () => resolve("read"));
            }})"""
        )
        assert outcome == "refused"
    # A script of ours on a foreign page would run there: it holds nothing, and is refused all the same.
    foreign.content = (
        f'<script>refused = false</script><script src="{given_page.url}/assets/js/html.js" onerror="refused = true"></script>'
    )
    tab.page.goto(foreign.url)
    assert tab.page.evaluate("() => refused")
    tab.errors.clear()


def test_clickjacking_in_chromium(look: Look, given_page: RunningPage, foreign: ForeignSite) -> None:
    tab = look()
    foreign.content = f'<iframe src="{given_page.url}{BERT}"></iframe>'
    tab.page.goto(foreign.url)
    framed = tab.page.frames[-1]
    framed.wait_for_load_state()
    assert framed.locator("#app").count() == 0
    assert any("frame-ancestors" in error for error in tab.errors)
    tab.errors.clear()


def assert_clean(page: Page) -> None:
    """No element came of the markup; it is there as text."""
    assert page.locator("#injected").count() == 0
    assert page.locator("img[src=x], main script").count() == 0
    assert page.evaluate("() => [...document.querySelectorAll('a')].every((a) => /^https?:/.test(a.href))")
    assert MARKUP in page.locator("main").inner_text()


def test_xss_from_names_causes_and_reasons(look: Look, given: Given) -> None:
    row = samples.first_jobs(2e9)[0]
    nasty = msgspec.structs.replace(row, name=NASTY, namespace=NASTY, why=NASTY, reason=NASTY)
    given.rows["jobs"] = {"jobs": [nasty]}
    tab = look()
    expect(tab.page.locator("tr.row")).to_have_count(1)
    assert_clean(tab.page)
    tab.page.locator("td.c-name a").click()
    expect(tab.page.locator("main h1")).to_be_attached()
    tab.expect_errors("400")


def _nasty(row: msgspec.Struct) -> msgspec.Struct:
    """Every text of a row, but what the page chooses by."""
    kept = {"id", "kind", "state", "tone", "source", "uid", "resource_version", "confidence"}
    changed: dict[str, object] = {}
    for field in row.__struct_fields__:
        value = getattr(row, field)
        if field in kept or (isinstance(row, wire.Action) and field == "name"):
            continue
        if isinstance(value, str):
            changed[field] = NASTY
        elif isinstance(value, tuple):
            changed[field] = tuple(_nasty_item(item) for item in value)
    return msgspec.structs.replace(row, **changed)


def _nasty_item(item: object) -> object:
    if isinstance(item, msgspec.Struct):
        return _nasty(item)
    if isinstance(item, str):
        return NASTY
    return tuple(map(_nasty_item, item)) if isinstance(item, tuple) else item


@pytest.mark.parametrize("view", ["job", "cluster", "migration"])
def test_xss_from_every_text_of_a_view(look: Look, given: Given, view: str) -> None:
    given.rows[view] = {name: [_nasty(row) for row in rows] for name, rows in given.rows[view].items()}  # type: ignore[misc]
    given.lines = (LogLines(lines=((0, NASTY, 1.7e9, NASTY),)),)
    tab = look({"job": BERT, "cluster": "/cluster", "migration": "/migration"}[view])
    expect(tab.page.get_by_text("onerror=alert").first).to_be_attached()
    if view == "job":
        expect(tab.page.locator(".log .line")).to_contain_text(MARKUP)
    assert_clean(tab.page)
    assert tab.errors == []


def test_links_made_of_cluster_text_are_http_only(look: Look, given: Given) -> None:
    detail = given.rows["job"]["job"][0]
    links = [
        wire.Link(title=f"t{number}", url=url, host="host.example")
        for number, url in enumerate(
            (
                "javascript:alert(1)",
                "JaVaScRiPt:alert(1)",
                "data:text/html,x",
                " javascript:alert(1)",
                "//host",
                "https://ok.example/x",
            )
        )
    ]
    given.rows["job"] = {**given.rows["job"], "job": [msgspec.structs.replace(detail, links=tuple(links))]}
    page = look(BERT).page
    expect(page.locator("a[target=_blank]")).to_have_count(1)
    link = page.locator("a[target=_blank]")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == ("https://ok.example/x", "noreferrer noopener")
    expect(link).to_contain_text("host.example")


def test_token_leak_nothing_is_kept_by_the_browser(look: Look) -> None:
    tab = look(BERT)
    for path in ("/cluster", "/migration", "/jobs"):
        tab.page.goto(tab.page.evaluate("() => location.origin") + path)
        expect(tab.page.locator(".live")).to_have_text("live")
    assert tab.page.evaluate("() => [localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_no_script_of_ours_makes_markup_or_code_of_text() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|setAttribute\(.on|localStorage"
    )
    scripts = [*ASSETS.glob("js/*.js"), ASSETS / "boot.js"]
    assert len(scripts) > 20
    for script in scripts:
        assert not forbidden.search(script.read_text()), script
