"""A cluster without nodes does what the original controllers and operators were recorded doing, over the same wire."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from player.check import differing_step
from player.live_cluster import LiveCluster
from player.outcomes import Recorded, parameters
from player.play import QUIET
from shunter.cluster import lifecycle
from shunter.kube import kubeconfig

AT_ONCE = 16
QUIET_ADMISSION = 1.5
"""Seconds; cases about admission have nothing to wait for but what the API server itself makes."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster without scheduler and node, as the recordings were made on."""
    state_dir = tmp_path_factory.mktemp("control-plane") / "state"
    started = lifecycle.start(lifecycle.Options(state_dir=state_dir, controllers=False))
    yield started.state.kubeconfig
    lifecycle.stop(started.state)


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, control_plane: Path) -> dict[str, str]:
    """Where each chosen case differs. They wait most of the time, so they are played together."""
    parameters = [item.callspec.params["one"] for item in request.session.items if item.module is request.module]
    return asyncio.run(_differing_steps(control_plane, parameters))


async def _differing_steps(control_plane: Path, chosen: list[Recorded]) -> dict[str, str]:
    gate = asyncio.Semaphore(AT_ONCE)
    async with LiveCluster(kubeconfig.load(control_plane)) as live:

        async def check(one: Recorded) -> str:
            async with gate:
                quiet = QUIET_ADMISSION if one.folder.startswith("admission") else QUIET
                return await differing_step(one.case, live, quiet=quiet)

        differences = await asyncio.gather(*map(check, chosen))
    return {one.id: difference for one, difference in zip(chosen, differences, strict=True)}


@pytest.mark.parametrize("one", parameters("embedded"))
def test_cluster_does_what_was_recorded(one: Recorded, found: dict[str, str]) -> None:
    assert not found[one.id], found[one.id]
