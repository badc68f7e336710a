"""Marks the tests that `make unit` runs, and holds them to it: a unit test starts no process and opens no network connection.

Every test is one, unless its folder is in `FOLDERS`, it has a fixture of `FIXTURES`, or it is marked `integration`, `slow`,
`e2e` or `conformance`. One that breaks the rule fails with `-m unit`, so that `make unit` can hold no cluster, whatever is added.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

FOLDERS = ("conformance", "e2e", "faults", "fuzz", "recipes", "vectors")
"""Below tests/: all that is in them needs a cluster, or programs that train."""
FIXTURES = ("api_server", "peer")
"""Servers that tests of several folders share."""
OTHERS = ("integration", "slow", "e2e", "conformance")
_NEVER_UNIT = frozenset(Path(__file__).parent / name for name in FOLDERS)
_OTHER_MODULE = re.compile(rf"^pytestmark = .*pytest\.mark\.(?:{'|'.join(OTHERS)})\b", re.MULTILINE)
_FORBIDDEN = frozenset(
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "socket.bind", "socket.connect")
)
"""Events of `sys.audit`."""


class NotUnitError(AssertionError):
    """A unit test did what none may."""

    def __init__(self, event: str) -> None:
        super().__init__(f"a unit test must not do {event}; mark it, or its module by `pytestmark`, with pytest.mark.integration")


class _Watch:
    """What the unit test that runs now has done of what none may."""

    def __init__(self) -> None:
        self.is_on = False
        self.broken = ""

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.is_on or event not in _FORBIDDEN or threading.current_thread() is not threading.main_thread():
            return
        if event.startswith("socket.") and isinstance(arguments[0], socket.socket) and arguments[0].family == socket.AF_UNIX:
            return
        self.broken = self.broken or event
        raise NotUnitError(event)


_watch = _Watch()


def register(config: pytest.Config) -> None:
    """To be called once a process: hooks of `sys.audit` cannot be taken back."""
    sys.addaudithook(_watch)
    config.pluginmanager.register(_Marking(config.option.markexpr == "unit"))


def is_unit(item: pytest.Item) -> bool:
    """Whether a test is one of these."""
    if item.parent is None or not _holds_unit_tests(item.parent):
        return False
    fixtures = getattr(item, "fixturenames", ())
    return not any(name in fixtures for name in FIXTURES) and not any(mark.name in OTHERS for mark in item.own_markers)


@cache
def _holds_unit_tests(parent: pytest.Collector) -> bool:
    """Whether tests of a module or class are such, as long as they say nothing else themselves."""
    folders = parent.nodeid.partition("::")[0].split("/")[:2]
    return not any(name in folders for name in FOLDERS) and not any(mark.name in OTHERS for mark in parent.iter_markers())


class _Marking:
    def __init__(self, is_watching: bool) -> None:
        self._is_watching = is_watching

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Modules with no unit test are not even imported by `make unit`: that takes longer than some tests."""
        if not self._is_watching:
            return None
        if collection_path.is_dir():
            return True if collection_path in _NEVER_UNIT else None
        is_other = collection_path.suffix == ".py" and _OTHER_MODULE.search(collection_path.read_text(encoding="utf-8"))
        return True if is_other else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        unit = pytest.mark.unit  # looked up once: pytest asks its list of markers each time
        for item in items:
            if is_unit(item):
                item.add_marker(unit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        _watch.is_on, _watch.broken = self._is_watching and item.get_closest_marker("unit") is not None, ""
        try:
            return (yield)
        finally:
            _watch.is_on = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if _watch.broken:
            # The code under test took the error for one of its own.
            raise NotUnitError(_watch.broken)
