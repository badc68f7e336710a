"""How late a change of the cluster is on the screen: Chromium shows the page of a full cluster, beside a watch of our own.

Both clocks are this machine's: the browser's time of a change in the document, less the time at which the watch told of it.
"""

from __future__ import annotations

import copy
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embedded import Cluster, cluster, job, until
from figures import Figure, percentile
from load import create
from measurements.jobs import JOBS, Running
from measurements.page import page

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

ROOT = Path(__file__).resolve().parents[2]
PODS = "/api/v1/namespaces/default/pods"
GIANT = "giant"
ROWS = "tr.row a"
CELLS = ".strip [role=option]"
_NOTE_ROWS = """() => {
  window.seen = {};
  const look = () => {
    const now = performance.timeOrigin + performance.now();
    for (const link of document.querySelectorAll("tr.row a")) window.seen[link.textContent] ??= now;
  };
  look();
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""
_NOTE_CELLS = """() => {
  window.seen = {};
  const note = (changes) => {
    const now = performance.timeOrigin + performance.now();
    for (const { target, oldValue, removedNodes } of changes) {
      const was = oldValue ?? removedNodes[0]?.getAttribute?.("aria-label");
      const rank = was?.match(/^rank (\\d+), Running/);
      if (rank && target.getAttribute("aria-label") !== was) window.seen[rank[1]] ??= now;
    }
  };
  const what = { subtree: true, childList: true, attributeFilter: ["aria-label"], attributeOldValue: true };
  new MutationObserver(note).observe(document.querySelector(".strip"), what);
}"""


def measure(settings: dict[str, Any]) -> list[Figure]:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "conformance")]
    from page.browser.chromium import browsing

    jobs, changes, pause = settings["jobs"], settings["changes"], settings["pause_seconds"]
    with cluster("--simulate") as started:
        running = Running(started, jobs)
        create(started, JOBS, job(), "job", jobs, clients=settings["clients"])
        running.wait()
        started.ask("POST", JOBS, giant(settings["ranks"]))
        with page(started) as served, browsing() as browser:
            name, _, value = served.cookie().partition("=")
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_cookies([{"name": name, "value": value, "url": f"http://{served.address}"}])
            tab = context.new_page()
            tab.set_default_timeout(120_000)

            def late(path: str, whole: str, observer: str, watch: Watch, change: Callable[[int], None]) -> list[float]:
                tab.goto(f"http://{served.address}{path}")
                tab.wait_for_selector(whole, state="attached")
                tab.wait_for_timeout(1000 * settings["settle_seconds"])
                tab.evaluate(observer)
                for number in range(changes):
                    change(number)
                    tab.wait_for_timeout(1000 * pause)
                return watch.behind(tab, changes)

            rows = late("/jobs", ROWS, _NOTE_ROWS, Watch(started, JOBS, added), lambda number: add(started, number))
            cells = late(
                f"/jobs/default/PyTorchJob/{GIANT}",
                f"{CELLS}:nth-child({settings['ranks']})",
                _NOTE_CELLS,
                Watch(started, PODS, removed),
                lambda number: remove(started, number),
            )
            context.close()
    return [
        Figure("page's share of latency, a row, median", statistics.median(rows), "ms", f"{len(rows)} jobs, beside {jobs}"),
        Figure("page's share of latency, a row, p99", percentile(rows, 0.99), "ms"),
        Figure(
            "page's share of latency, a rank, median", statistics.median(cells), "ms", f"{len(cells)} of {settings['ranks']} pods"
        ),
        Figure("page's share of latency, a rank, p99", percentile(cells, 0.99), "ms"),
    ]


def giant(ranks: int) -> Any:
    found = copy.deepcopy(job(GIANT))
    found["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = ranks - 1
    return found


def add(started: Cluster, number: int) -> None:
    started.ask("POST", JOBS, job(f"new-{number}"))


def remove(started: Cluster, number: int) -> None:
    started.ask("DELETE", f"{PODS}/{GIANT}-worker-{10 * number}")


def added(event: Any) -> str:
    """The name in the page of what an event tells; empty where it is another change."""
    name = str(event["object"]["metadata"]["name"])
    return name if event["type"] == "ADDED" and name.startswith("new-") else ""


def removed(event: Any) -> str:
    """As `added`; the rank of a pod that is going, or gone."""
    metadata = event["object"]["metadata"]
    role, _, number = str(metadata["name"]).removeprefix(f"{GIANT}-").partition("-")
    is_going = event["type"] == "DELETED" or "deletionTimestamp" in metadata
    return str(int(number) + 1) if is_going and role == "worker" and number.isdigit() else ""


class Watch:
    """When a watch of the cluster told of each change first."""

    def __init__(self, started: Cluster, path: str, name: Callable[[Any], str]) -> None:
        self._told: dict[str, float] = {}
        threading.Thread(target=self._read, args=(started, path, name), daemon=True).start()

    def _read(self, started: Cluster, path: str, name: Callable[[Any], str]) -> None:
        for event in started.events(path):
            at = time.time()
            if found := name(event):
                self._told.setdefault(found, at)

    def behind(self, tab: Tab, changes: int) -> list[float]:
        """Milliseconds from what was told to what was seen, of each change; the two clocks differ by less than one."""
        seen: dict[str, float] = {}

        def is_whole() -> bool:
            seen.update(tab.evaluate("() => window.seen"))
            return len(self._told) == changes and self._told.keys() <= seen.keys()

        until(is_whole, 60)
        return [seen[name] - 1000 * told for name, told in self._told.items()]
