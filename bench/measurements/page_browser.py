"""What the web page costs the browser: Chromium's thread time, which holds on a machine that does other things beside it."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import Figure, spread

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from page.browser.given import Given
    from page.server import RunningPage

ROOT = Path(__file__).resolve().parents[2]
JOB = "/jobs/vision/PyTorchJob/bert-large"
CELLS = ".strip [role=option]"
MIB = 2**20
_LONG_TASKS = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((task) => task.duration)))
    .observe({ type: "longtask" });
}"""

_PAINTED = "() => performance.getEntriesByName('first-contentful-paint').length"
_FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
_BYTES = """() => performance.getEntries()
  .filter((one) => one.entryType === "navigation" || one.name.includes("/assets/"))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""


def measure(settings: dict[str, Any]) -> list[Figure]:
    sys.path.insert(0, str(ROOT / "tests"))
    from playwright.sync_api import sync_playwright

    from e2e.embedded_cluster import EmbeddedCluster
    from page.browser import chromium
    from page.browser.given import Given, page_with
    from page.server import running

    given = Given()
    with tempfile.TemporaryDirectory() as state, sync_playwright() as playwright:
        cluster = EmbeddedCluster(Path(state) / "state", options=["--simulate"])
        cluster.up()
        browser = chromium.launched(playwright)
        try:
            with running(page_with(given, cluster)) as served:
                return [
                    _first_paint(browser, served, given, settings),
                    *_opening(browser, served, given, settings),
                    *_changes(browser, served, given, settings),
                    *_flood(browser, served, given, settings),
                    *_assets(browser, served),
                ]
        finally:
            browser.close()
            cluster.down()


def _assets(browser: Browser, served: RunningPage) -> list[Figure]:
    """What a browser that knows nothing yet asks for, compressed."""
    figures = []
    for title, path, whole in (("the list", "/jobs", "tr.row"), ("a job with a curve", JOB, ".curve path.line")):
        tab = _Tab(browser, served)
        tab.forget()
        tab.page.goto(served.url + path)
        tab.page.wait_for_selector(whole)
        figures.append(Figure(f"assets of {title}, gzip", tab.page.evaluate(_BYTES) / 1000, "KB"))
        tab.context.close()
    return figures


class _Tab:
    """A window that is logged in, and its thread time."""

    def __init__(self, browser: Browser, served: RunningPage) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page: Page = self.context.new_page()
        self.page.goto(f"{served.login_url()}", wait_until="commit")
        self.page.wait_for_selector(".live.open", state="attached")
        self.page.goto(f"{served.url}/login")
        self._devtools = self.context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def metric(self, name: str) -> float:
        metrics = self._devtools.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == name))

    def thread_ms(self, work: Callable[[], object]) -> float:
        """Of the page's main thread while `work` is done, and for a while after it."""
        before = self.metric("TaskDuration")
        work()
        self.page.wait_for_timeout(300)
        return 1000 * (self.metric("TaskDuration") - before)

    def forget(self) -> None:
        """Nothing is taken from the browser's cache from now on."""
        self._devtools.send("Network.enable")
        self._devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def heap(self) -> float:
        """Bytes, after garbage was collected."""
        self._devtools.send("HeapProfiler.collectGarbage")
        return self.metric("JSHeapUsedSize")


def _first_paint(browser: Browser, served: RunningPage, given: Given, settings: dict[str, Any]) -> Figure:
    """Of the list, as a ratio to that of the server's smallest answer; both by a browser that has nothing in its cache."""
    given.reset()
    times: dict[str, list[float]] = {"/jobs": [], "/healthz": []}
    for _ in range(settings["paints"]):
        for path, found in times.items():
            tab = _Tab(browser, served)
            tab.forget()
            tab.page.goto(served.url + path)
            tab.page.wait_for_function(_PAINTED)
            found.append(tab.page.evaluate(_FIRST_PAINT))
            tab.context.close()
    page, static = (statistics.median(found) for found in times.values())
    return Figure("first paint / of a static page", page / static, "", f"{page:.0f} ms and {static:.0f} ms")


def _opening(browser: Browser, served: RunningPage, given: Given, settings: dict[str, Any]) -> list[Figure]:
    from page.browser import samples

    given.rows["jobs"] = {"jobs": samples.jobs(settings["jobs"])}
    given.rows["job"] = samples.job(settings["ranks"])
    figures = []
    for title, path, whole in (("1,000 jobs", "/jobs", "tr.row"), ("a job of 1,000 ranks", JOB, CELLS)):
        times = []
        for _ in range(settings["rounds"]):
            tab = _Tab(browser, served)

            def opened(page: Page = tab.page, url: str = served.url + path, selector: str = whole) -> None:
                page.goto(url, wait_until="commit")
                page.wait_for_selector(selector)

            times.append(tab.thread_ms(opened))
            tab.context.close()
        figures.append(Figure(f"thread time until {title}", statistics.median(times), "ms", spread(times)))
    return figures


def _changes(browser: Browser, served: RunningPage, given: Given, settings: dict[str, Any]) -> list[Figure]:
    import msgspec

    from page.browser import samples

    tab = _Tab(browser, served)
    changes = settings["changes"]
    figures = []
    for title, path, whole in (("in 1,000 jobs", "/jobs", "tr.row"), ("of 1,000 ranks", JOB, CELLS)):
        tab.page.goto(served.url + path)
        tab.page.wait_for_selector(whole)
        tab.page.wait_for_timeout(1500)
        view, collection = ("jobs", "jobs") if path == "/jobs" else ("job", "ranks")
        rows = [*given.rows[view][collection]]

        def changing(rows: list[Any] = rows, view: str = view, collection: str = collection) -> None:
            for number in range(changes):
                state = "Restarting" if number % 2 else "Running"
                rows[5] = msgspec.structs.replace(rows[5], state=state)
                given.rows[view] = {**given.rows[view], collection: [*rows]}
                tab.page.wait_for_timeout(200)

        idle = tab.thread_ms(lambda: tab.page.wait_for_timeout(200 * changes))
        figures.append(Figure(f"thread time a change {title}", (tab.thread_ms(changing) - idle) / changes, "ms"))
    tab.context.close()
    given.rows["job"] = samples.job(8)
    return figures


def _flood(browser: Browser, served: RunningPage, given: Given, settings: dict[str, Any]) -> list[Figure]:
    """As much as the server lets through: 20 events of 64 KiB a second, the rest counted as skipped."""
    from shunter.page.wire import LogLines

    line = "step 1234 loss 0.4123 lr 0.0003 throughput 2.41 it/s grad_norm 0.7312 " * 2
    event = LogLines(lines=tuple((number % 8, "worker", 1.7e9, line) for number in range(64 * 1024 // len(line))), skipped=4500)
    given.lines = ()
    tab = _Tab(browser, served)
    tab.page.goto(served.url + JOB)
    tab.page.wait_for_selector(".log .none")
    before = tab.heap()
    given.lines = (event,) * int(20 * settings["flood_seconds"])
    given.pause = 0.05
    tab.page.evaluate(_LONG_TASKS)

    def flooding() -> None:
        tab.page.get_by_label("Show only lines that contain this").fill("step")
        deadline = time.monotonic() + settings["flood_seconds"] + 30
        whole = f"{len(event.lines) * len(given.lines):,} lines found"
        while not tab.page.locator("section[aria-labelledby=log] > p").inner_text().startswith(whole):
            assert time.monotonic() < deadline, "the flood does not end"
            tab.page.wait_for_timeout(1000)

    spent = tab.thread_ms(flooding) / 1000
    longest = [task for task in tab.page.evaluate("() => window.longTasks") if task > 100]
    grown = (tab.heap() - before) / MIB
    tab.context.close()
    given.pause = 0
    return [
        Figure("flood of logs: thread", spent, "s"),
        Figure("flood of logs: tasks over 100 ms", len(longest), ""),
        Figure("flood of logs: heap", grown, "MiB"),
    ]
