"""What tests of every folder share: the kind of cluster they run on, and the real control plane."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

import brief_reports
import first_cases
import unit_tests
import unpassed
from by_module import scope_of, turn
from control_plane import ControlPlane
from full_disk import SmallDisk, mounted

if TYPE_CHECKING:
    from faults.planes import Plane

# No example has a deadline: machines that are busy miss them, and timed assertions do not belong in tests.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    unpassed.add_option(parser)
    first_cases.add_option(parser)
    parser.addoption(
        "--cluster",
        choices=("embedded", "real"),
        default="embedded",
        help="what e2e tests run on: the embedded cluster, or a real control plane (conformance/) with this machine as its node",
    )
    parser.addoption("--warm", default="", metavar="MODULES", help="e2e tests: start the embedded cluster with --warm MODULES")


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(20_000, 20, 50)  # collecting 17,000 tests makes objects that stay: Python looks at all of them less often
    unpassed.register(config)
    unit_tests.register(config)
    first_cases.register(config)
    brief_reports.register(config)


def pytest_collection_finish() -> None:
    gc.freeze()  # tests and modules stay to the end: whoever looks for garbage from now on, as pytest does last, passes them over


class ByFixture(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives tests of one scope to one process. Those of several tests come first, as with pytest-xdist; the others are mixed, so
    that tests which wait and tests which compute run beside each other all the time. On a real cluster those of a folder stay
    together: see `pytest_runtest_teardown`."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid, self.config.rootpath)

    def schedule(self) -> None:
        is_first = self.collection is None
        super().schedule()
        if is_first and self.config.getoption("cluster") == "embedded":
            scopes = sorted(self.workqueue.items(), key=lambda scope: turn(scope[0]) if len(scope[1]) == 1 else -1)
            self.workqueue.clear()
            self.workqueue.update(scopes)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFixture | None:
    return ByFixture(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a real cluster there is nothing that a test of the embedded one's commands could ask."""
    if config.getoption("cluster") == "embedded":
        return
    about_embedded = [item for item in items if item.get_closest_marker("embedded")]
    if about_embedded:
        config.hook.pytest_deselected(items=about_embedded)
        items[:] = [item for item in items if item not in about_embedded]


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, shared by all tests of a worker: touch only your namespaces, and start again what you stop."""
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane") / "plane", audit=True)
    plane.start()
    yield plane
    plane.stop()


class SharedPlane:
    """The control plane without nodes of a worker, started when a test asks for it."""

    def __init__(self, kind: str, new_directory: Callable[[], Path]) -> None:
        self._kind = kind
        self._new_directory = new_directory
        self._running: Plane | None = None

    def running(self) -> Plane:
        from faults.planes import new_plane

        if self._running is None:
            self._running = new_plane(self._kind, self._new_directory() / "state")
        return self._running

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None


SHARED_PLANE = pytest.StashKey[SharedPlane]()


@pytest.fixture(scope="session")
def shared_plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedPlane]:
    shared = SharedPlane(request.config.getoption("--cluster"), lambda: tmp_path_factory.mktemp("plane"))
    request.session.stash[SHARED_PLANE] = shared
    yield shared
    shared.close()


@pytest.fixture
def plane(shared_plane: SharedPlane) -> Plane:
    """A control plane without nodes, of the kind that `--cluster` names, shared by all tests of a worker."""
    return shared_plane.running()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A real one costs a tenth of a core while nobody asks it anything, so it ends with the last test of tests/faults."""
    shared = item.session.stash.get(SHARED_PLANE, None)
    is_over = nextitem is not None and nextitem.path.parent != item.path.parent
    if shared and is_over and item.config.getoption("cluster") == "real":
        shared.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """64 MB at `tmp_path/disk`."""
    with mounted(tmp_path / "disk", 64) as disk:
        yield disk
