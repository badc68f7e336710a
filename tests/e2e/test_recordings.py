"""A cluster without nodes does what the original controllers and operators were recorded doing, over the same wire."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from control_plane import ControlPlane
from e2e.real_cluster import RealCluster
from player.check import PATIENCE, differing_step
from player.live_cluster import LiveCluster
from player.outcomes import Place, Recorded, outcome, parameters, played_on
from player.play import QUIET
from player.pod_groups import install_pod_groups
from shunter.cluster import lifecycle
from shunter.cluster.state_dir import StateDir
from shunter.kube import kubeconfig
from shunter.kube.client import connect

AT_ONCE = 24
QUIET_EMBEDDED = 0.8
"""Seconds; the embedded cluster's controllers act at once, Kubernetes' own gather changes for up to a second."""
TIMED_AT_ONCE = 6
"""Cases that have seconds in them run first and few at a time, so that a busy machine does not miss a deadline."""
LOG_LINES = 30


pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Place:
    kind: Place = request.config.getoption("cluster")
    return kind


def nodeless(place: Place, directory: Path, gang_schedulers: Sequence[str]) -> Generator[tuple[str, Path]]:
    """A cluster without scheduler and node, as the recordings were made on: each flag with the kubeconfig, while an operator with
    that flag runs. It is one cluster, since a real one takes half a minute to start: cases share no namespace."""
    if place == "embedded":
        options = lifecycle.Options(
            state_dir=directory,
            controllers=False,
            disable_admission_plugins="ServiceAccount",
            feature_gates="TrainJobStatus=false",
        )
        try:
            asyncio.run(_with_pod_groups(lifecycle.start(options).state.kubeconfig))
            for flag in gang_schedulers:
                # Started again, the operator knows all kinds from the start, as the recorded ones did.
                lifecycle.stop(StateDir(directory))
                yield flag, lifecycle.start(options._replace(gang_scheduler_name=flag)).state.kubeconfig
        finally:
            lifecycle.stop(StateDir(directory))
        return
    parts = ("kube-controller-manager", "jobset")
    with ControlPlane(directory, parts=parts, plain_pods=True) as plane:
        asyncio.run(_with_pod_groups(plane.kubeconfig))
        for flag in gang_schedulers:
            cluster = RealCluster(plane, components=["operator"], gang_scheduler=flag)
            try:
                cluster.up()
                yield flag, plane.kubeconfig
            finally:
                cluster.down()


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, place: Place, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where each chosen case differs. They wait most of the time, so they are played together."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module]
    chosen = [one for item in items if isinstance(one := item.callspec.params["one"], Recorded)]
    found: dict[str, str] = {}
    # The few of a gang first: what they leave gives the next operator little to do.
    flags = sorted({one.gang_scheduler for one in chosen}, reverse=True)
    with closing(nodeless(place, tmp_path_factory.mktemp("nodeless") / "state", flags)) as clusters:
        for flag, cluster in clusters:
            cases = [one for one in chosen if one.gang_scheduler == flag]
            differing = asyncio.run(_differing_steps(cluster, cases, place))
            if any(differing[one.id] and outcome(one, place).is_met for one in cases):
                _print_logs(cluster.parent)
            found |= differing
    return found


def _print_logs(directory: Path) -> None:
    """Which part of a control plane stood still is seen only in its log; pytest shows what is printed beside the failure."""
    for log in sorted(directory.glob("*.log")):
        print(f"{log.name} ends:", *log.read_text(errors="replace").splitlines()[-LOG_LINES:], sep="\n")


async def _differing_steps(cluster: Path, chosen: list[Recorded], place: Place) -> dict[str, str]:
    timed = [one for one in chosen if one.case.is_timed]
    others = [one for one in chosen if not one.case.is_timed]
    found: dict[str, str] = {}
    quiet = QUIET_EMBEDDED if place == "embedded" else QUIET
    async with LiveCluster(kubeconfig.load(cluster)) as live:
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


async def _with_pod_groups(cluster: Path) -> None:
    async with connect(kubeconfig.load(cluster), component="player") as client:
        await install_pod_groups(client)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    place: Place = metafunc.config.getoption("cluster")
    if "one" in metafunc.fixturenames:
        metafunc.parametrize("one", parameters(place, *played_on(place)))


def test_cluster_does_what_was_recorded(one: Recorded, found: dict[str, str]) -> None:
    assert not found[one.id], found[one.id]
