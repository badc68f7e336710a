"""`--unpassed`: runs what has not passed yet. A run that was aborted leaves tests that neither passed nor failed; pytest's own
`--last-failed` leaves them out, and then says that all is well. Tests that failed and then passed are kept by name:
scripts/repeated_tests.py counts them."""

from __future__ import annotations

import pytest

PASSED = "unpassed/passed"
FAILED = "unpassed/failed"
REPEATED = "unpassed/repeated"
"""Tests that failed and passed when they were run again, of all runs until the file is removed."""


class PassedTests:
    """Writes down which tests have passed, or were skipped or expected to fail, in this run and in those that it repeats."""

    def __init__(self, config: pytest.Config) -> None:
        assert config.cache is not None
        self._cache = config.cache
        self._repeats = bool(config.getoption("unpassed"))
        self._passed: set[str] = set(self._cache.get(PASSED, [])) if self._repeats else set()
        self._failed_before: set[str] = set(self._cache.get(FAILED, [])) if self._repeats else set()
        self._failed: set[str] = set()
        # What is killed leaves no list; the one of a run before must not stand for it.
        self._cache.set(PASSED, sorted(self._passed))

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self._repeats:
            return
        passed = [item for item in items if item.nodeid in self._passed]
        config.hook.pytest_deselected(items=passed)
        items[:] = [item for item in items if item.nodeid not in self._passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if nodeid not in self._failed:
            self._passed.add(nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._cache.set(PASSED, sorted(self._passed))
        self._cache.set(FAILED, sorted((self._failed_before | self._failed) - self._passed))
        if repeated := self._failed_before & self._passed:
            self._cache.set(REPEATED, sorted(repeated | set(self._cache.get(REPEATED, []))))
        if self._repeats and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--unpassed", action="store_true", help="run only what has not passed in the last run")


def register(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # xdist's controller hears of the tests of all its workers
        config.pluginmanager.register(PassedTests(config))
