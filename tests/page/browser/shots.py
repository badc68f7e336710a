"""Pictures of the page for README and docs: the real page, with the rows of `samples`. Run by `make page-shots`.

python shots.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect, sync_playwright

from e2e.embedded_cluster import EmbeddedCluster
from page.browser import chromium, samples
from page.browser.given import Given, page_with
from page.server import RunningPage, running

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SIZE = {"width": 1360, "height": 720}
VIEWS = {
    "jobs": ("/jobs", "tr.row"),
    "job": ("/jobs/nlp/PyTorchJob/giant", ".curve path.line"),
    "migration": ("/migration", ".wave"),
    "cluster": ("/cluster", "td .meter"),
}
"""Name of the picture -> address, and what is there once the view is whole."""
DARK = ("jobs",)
"""Those that the README shows; the docs have light ones."""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    given = Given()
    given.rows["job"] = samples.job(
        1000, name="giant", namespace="nlp", state="Running", reason="", up=999, why="", restart_limit=None
    )
    with tempfile.TemporaryDirectory() as state, sync_playwright() as playwright:
        cluster = EmbeddedCluster(Path(state) / "state", options=["--simulate"])
        cluster.up()
        browser = chromium.launched(playwright)
        try:
            with running(page_with(given, cluster)) as page:
                for scheme in SCHEMES:
                    take(browser, page, scheme, folder)
        finally:
            browser.close()
            cluster.down()


def take(browser: Browser, served: RunningPage, scheme: Literal["light", "dark"], folder: Path) -> None:
    """One picture of each view."""
    with chromium.logged_in(browser, served, viewport=SIZE, color_scheme=scheme) as tab:
        for name, (path, whole) in VIEWS.items():
            if scheme == "dark" and name not in DARK:
                continue
            tab.page.goto(f"{served.url}{path}")
            expect(tab.page.locator(whole).first).to_be_visible()
            expect(tab.page.locator(".live")).to_have_text("live")
            tab.page.screenshot(path=folder / f"page-{name}-{scheme}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
