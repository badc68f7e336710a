"""Workers of pytest-xdist report a test that passed once, not by six messages: for most tests these take longer than the test.

Left out is what nobody reads: that a set-up passed, or a tear-down of a test that passed, unless `--durations` asks for it, and,
but for `-v`, that a test begins. What did not pass is reported at once, since the worker may die in the tear-down. Whoever counts
tests counts ends (`pytest_runtest_logfinish`).
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol


class BriefReports:
    """Runs a test as pytest does, and reports what passed of it afterwards."""

    def __init__(self, config: pytest.Config) -> None:
        least = config.getoption("durations_min")
        verbosity = config.get_verbosity()
        shown_from = 0.0 if verbosity > 1 else 0.005 if least is None else least
        self._shown_from: float = shown_from if config.getoption("durations") is not None else float("inf")
        self._is_verbose = verbosity > 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        if self._is_verbose:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        has_passed = all(report.passed for report in reports)
        for report in reports:
            is_read = (
                report.when == "call" or (report.when == "teardown" and not has_passed) or report.duration >= self._shown_from
            )
            if report.passed and is_read:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True, wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
        return report


def register(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(BriefReports(config))
