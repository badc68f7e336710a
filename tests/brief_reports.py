"""Workers of pytest-xdist report a test that passed once, not by six messages: for most tests these take longer than the test.

Left out is what nobody reads: that a set-up and a tear-down passed, unless `--durations` asks for such, and, but for `-v`, that a
test begins. What did not pass is reported in full. Whoever counts tests counts ends (`pytest_runtest_logfinish`).
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class BriefReports:
    """Runs a test as pytest does, and reports it afterwards."""

    def __init__(self, config: pytest.Config) -> None:
        shows_seconds = config.getoption("durations") is not None
        self._shown_from: float = (config.getoption("durations_min") or 0.005) if shows_seconds else float("inf")
        self._is_verbose = config.get_verbosity() > 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        if self._is_verbose:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.when == "call" or not report.passed or report.duration >= self._shown_from:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def register(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(BriefReports(config))
