"""Debian's Chromium under Playwright, without a window, and pages that fail a test for any error that the console shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Playwright, sync_playwright

from page.server import RunningPage

SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
"""Chromium without the parts of a desktop: a page takes a quarter of the processor time. scripts/setup-browser installs it."""
DESKTOP = Path("/usr/lib/chromium/chromium")
"""The package's binary itself; its wrapper script adds options of the desktop."""
FOREIGN_HOST = "rebound.example"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {FOREIGN_HOST} 127.0.0.1",
)


def required() -> Path:
    """The Chromium of this machine. Skips the test where there is none; fails it in CI."""
    for binary in (SHELL, DESKTOP):
        if binary.exists():
            return binary
    reason = f"there is no Chromium at {SHELL}: run scripts/setup-browser"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def launched(playwright: Playwright, *flags: str) -> Browser:
    """`flags` are further ones; of two values of one flag the last counts."""
    binary = required()
    headless = ["--headless=new"] if binary == DESKTOP else []
    return playwright.chromium.launch(executable_path=binary, args=[*headless, *FLAGS, *flags])


@contextmanager
def browsing(*flags: str) -> Iterator[Browser]:
    """A browser. Until it ends Playwright's event loop runs in this thread, and tests that run one of their own fail."""
    with sync_playwright() as playwright:
        browser = launched(playwright, *flags)
        yield browser
        browser.close()


def is_error(message: ConsoleMessage) -> bool:
    """Pods of other tests bring network interfaces, and Chromium fails what it loads meanwhile: the page has to bear that."""
    return message.type == "error" and "ERR_NETWORK_CHANGED" not in message.text


def navigate(page: Page, url: str) -> None:
    """Goes to an address, and again where an interface of a pod that came made Chromium fail the navigation itself: no page is
    there yet that could bear it."""
    for _ in range(20):
        try:
            page.goto(url, wait_until="commit")
        except Error as error:
            if "ERR_NETWORK_CHANGED" not in error.message:
                raise
        else:
            return
    pytest.fail(f"network interfaces failed 20 navigations to {url}")


class Tab:
    """A page in a window of its own, logged in; `errors` holds what its console said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", self._fail)
        page.on("console", self._note)
        page.on("dialog", self._dismiss)

    def _fail(self, error: Error) -> None:
        # A module that an interface of a pod cut off (`is_error`): the page loads itself again, or the test sees that it did not.
        if not error.message.startswith("Failed to fetch dynamically imported module"):
            self.errors.append(f"{error.message}\n{error.stack}")

    def _note(self, message: ConsoleMessage) -> None:
        if is_error(message):
            self.errors.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def expect_errors(self, *parts: str) -> None:
        """Drops those that contain one of these."""
        self.errors = [error for error in self.errors if not any(part in error for part in parts)]


@contextmanager
def logged_in(browser: Browser, served: RunningPage, path: str = "/jobs", **options: Any) -> Iterator[Tab]:
    """A tab at `path`; at its end the console must have shown no error."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(15_000)
    try:
        tab = Tab(context.new_page())
        navigate(tab.page, served.login_url())
        tab.page.wait_for_selector(".live.open", state="attached")
        if path != "/jobs":
            navigate(tab.page, f"{served.url}{path}")
        yield tab
        assert not tab.errors, tab.errors
    finally:
        context.close()
