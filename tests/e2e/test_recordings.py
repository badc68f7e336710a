"""An embedded cluster without a node does what the original controllers were recorded doing, over the same wire.

The recordings stand with the tests of the rooms that they are about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from player.case import Case, cases
from player.check import differing_step
from player.live_cluster import LiveCluster
from shunter.cluster import lifecycle
from shunter.kube import kubeconfig

RECORDINGS = Path(__file__).parents[1] / "cluster" / "controllers" / "recordings"
CASES = {case.name: case for case in [*cases(RECORDINGS / "job"), *cases(RECORDINGS / "jobset")]}
AT_ONCE = 16
DIFFERENT = {
    "js-mutable-running": "claims carry no finalizer kubernetes.io/pvc-protection: no controller takes it off here",
}
"""Not equal, and why."""

pytestmark = pytest.mark.timeout(400)


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
    chosen = {name for item in request.session.items for name in CASES if item.name.endswith(f"[{name}]")}
    return asyncio.run(_differing_steps(control_plane, [CASES[name] for name in sorted(chosen)]))


async def _differing_steps(control_plane: Path, chosen: list[Case]) -> dict[str, str]:
    gate = asyncio.Semaphore(AT_ONCE)
    async with LiveCluster(kubeconfig.load(control_plane)) as live:

        async def check(case: Case) -> str:
            async with gate:
                return await differing_step(case, live)

        differences = await asyncio.gather(*map(check, chosen))
    return {case.name: difference for case, difference in zip(chosen, differences, strict=True)}


def _parameters() -> list[object]:
    marks = {name: [pytest.mark.xfail(reason=reason, strict=True)] for name, reason in DIFFERENT.items()}
    return [pytest.param(name, id=name, marks=marks.get(name, [])) for name in CASES]


@pytest.mark.parametrize("name", _parameters())
def test_cluster_does_what_was_recorded(name: str, found: dict[str, str]) -> None:
    assert not found[name], found[name]
