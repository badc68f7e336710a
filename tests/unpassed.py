"""`--unpassed`: runs what has not passed yet. A run that was aborted leaves tests that neither passed nor failed; pytest's own
`--last-failed` leaves them out, and then says that all is well. Tests that failed and then passed are kept by name:
scripts/repeated_tests.py counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

COLLECTED = "unpassed/collected"
PASSED = "unpassed/passed"
FAILED = "unpassed/failed"
REPEATED = "unpassed/repeated"
"""Tests that failed and passed when they were run again, of all runs until the file is removed."""


class PassedTests:
    """Writes down which tests have passed, or were skipped or expected to fail, in this run and in those that it repeats."""

    def __init__(self, config: pytest.Config) -> None:
        assert config.cache is not None
        self._cache = config.cache
        self._root = config.rootpath
        self._repeats = bool(config.getoption("unpassed"))
        self._passed: set[str] = set(self._cache.get(PASSED, [])) if self._repeats else set()
        self._failed_before: set[str] = set(self._cache.get(FAILED, [])) if self._repeats else set()
        self._failed: set[str] = set()
        # What is killed leaves no list; the one of a run before must not stand for it.
        self._cache.set(PASSED, sorted(self._passed))
        if not self._repeats:
            self._cache.set(COLLECTED, [])
        collected: list[str] = self._cache.get(COLLECTED, [])
        self._all = _modules(collected)
        self._left = _modules(set(collected) - self._passed)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Modules whose tests have all passed are not even imported: that takes half a minute."""
        if not self._repeats or collection_path.suffix != ".py":
            return None
        module = collection_path.relative_to(self._root).as_posix()
        return True if module in self._all - self._left else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._remember([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._remember(ids)

    def _remember(self, ids: Sequence[str]) -> None:
        if ids and not self._repeats and not self._all:
            self._all = _modules(ids)
            self._cache.set(COLLECTED, list(ids))

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


def _modules(ids: Iterable[str]) -> frozenset[str]:
    return frozenset(one.partition("::")[0] for one in ids)


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--unpassed", action="store_true", help="run only what has not passed in the last run")


def register(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # xdist's controller hears of the tests of all its workers
        config.pluginmanager.register(PassedTests(config))
