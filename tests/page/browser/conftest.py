"""One simulated cluster and one page with given rows a worker, and one Chromium a module. Playwright is imported in functions:
unit tests run where it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from page.browser.given import Given, page_with
from page.server import RunningPage, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from page.browser.chromium import Tab


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module, for the tests of others."""
    from page.browser.chromium import browsing

    with browsing() as found:
        yield found


@pytest.fixture(scope="session")
def _given() -> Given:
    return Given()


@pytest.fixture(scope="session")
def given_page(_given: Given, page_cluster: EmbeddedCluster) -> Iterator[RunningPage]:
    with running(page_with(_given, page_cluster)) as page:
        yield page


@pytest.fixture
def given(_given: Given, given_page: RunningPage) -> Iterator[Given]:
    """What the page of `look` shows."""
    yield _given
    _given.reset()


@pytest.fixture
def look(browser: Browser, given: Given, given_page: RunningPage) -> Iterator[Callable[..., Tab]]:
    """Opens a path of the page with given rows in a new window; its options are those of a browser context."""
    from page.browser.chromium import logged_in

    with ExitStack() as stack:

        def opened(path: str = "/jobs", **options: Any) -> Tab:
            return stack.enter_context(logged_in(browser, given_page, path, **options))

        yield opened
