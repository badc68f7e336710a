"""A cluster without nodes does what the original controllers and operators were recorded doing, over the same wire."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plane import ControlPlane
from e2e.real_cluster import RealCluster
from player.check import PATIENCE, differing_step
from player.live_cluster import LiveCluster
from player.outcomes import Place, Recorded, outcome, parameters, played_on
from player.play import QUIET
from shunter.cluster import lifecycle
from shunter.kube import kubeconfig

AT_ONCE = 12
QUIET_EMBEDDED = 0.8
"""Seconds; the embedded cluster's controllers act at once, Kubernetes' own gather changes for up to a second."""
TIMED_AT_ONCE = 3
"""Cases that have seconds in them run first and few at a time, so that a busy machine does not miss a deadline."""


pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("recordings")]


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Place:
    kind: Place = request.config.getoption("cluster")
    return kind


@pytest.fixture(scope="module")
def nodeless(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster without scheduler and node, as the recordings were made on."""
    directory = tmp_path_factory.mktemp("nodeless") / "state"
    if place == "embedded":
        started = lifecycle.start(lifecycle.Options(state_dir=directory, controllers=False))
        yield started.state.kubeconfig
        lifecycle.stop(started.state)
        return
    parts = ("kube-controller-manager", "jobset")
    with ControlPlane(directory, parts=parts, plain_pods=True) as plane:
        cluster = RealCluster(plane, components=["operator"])
        try:
            cluster.up()
            yield plane.kubeconfig
        finally:
            cluster.down()


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, place: Place, nodeless: Path) -> dict[str, str]:
    """Where each chosen case differs. They wait most of the time, so they are played together."""
    chosen = [item.callspec.params["one"] for item in request.session.items if item.module is request.module]
    return asyncio.run(_differing_steps(nodeless, chosen, place))


async def _differing_steps(nodeless: Path, chosen: list[Recorded], place: Place) -> dict[str, str]:
    timed = [one for one in chosen if one.case.is_timed]
    others = [one for one in chosen if not one.case.is_timed]
    found: dict[str, str] = {}
    quiet = QUIET_EMBEDDED if place == "embedded" else QUIET
    async with LiveCluster(kubeconfig.load(nodeless)) as live:
        for cases, at_once in ((timed, TIMED_AT_ONCE), (others, AT_ONCE)):
            gate = asyncio.Semaphore(at_once)

            async def check(one: Recorded, gate: asyncio.Semaphore = gate) -> None:
                expected = outcome(one, place)
                patience = PATIENCE if expected.is_met else 0.0
                async with gate:
                    found[one.id] = await differing_step(
                        one.case, live, quiet=quiet, patience=patience, events=expected.has_events
                    )

            await asyncio.gather(*map(check, cases))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    place: Place = metafunc.config.getoption("cluster")
    if "one" in metafunc.fixturenames:
        metafunc.parametrize("one", parameters(place, *played_on(place)))


def test_cluster_does_what_was_recorded(one: Recorded, found: dict[str, str]) -> None:
    assert not found[one.id], found[one.id]
