"""An embedded cluster without a node does what the original controllers were recorded doing, over the same wire.

The recordings stand with the tests of the rooms that they are about.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from player.case import Case, cases
from player.check import differing_step
from player.live_cluster import LiveCluster
from shunter.cluster import lifecycle
from shunter.kube import kubeconfig

RECORDINGS = Path(__file__).parents[1] / "cluster" / "controllers" / "recordings"
DIFFERENT = {
    "js-mutable-running": "claims carry no finalizer kubernetes.io/pvc-protection: no controller takes it off here",
    "js-refused-shape": "a replicated job without a name is refused by the schema's list keys, not stored with an empty one",
}
"""Not equal, and why."""


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster without scheduler and node, as the recordings were made on."""
    state_dir = tmp_path_factory.mktemp("control-plane") / "state"
    started = lifecycle.start(lifecycle.Options(state_dir=state_dir, controllers=False))
    yield started.state.kubeconfig
    lifecycle.stop(started.state)


@pytest_asyncio.fixture
async def live(control_plane: Path) -> AsyncIterator[LiveCluster]:
    async with LiveCluster(kubeconfig.load(control_plane)) as cluster:
        yield cluster


def _parameters() -> list[object]:
    found = [*cases(RECORDINGS / "job"), *cases(RECORDINGS / "jobset")]
    marks = {name: [pytest.mark.xfail(reason=reason, strict=True)] for name, reason in DIFFERENT.items()}
    return [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in found]


@pytest.mark.parametrize("case", _parameters())
async def test_cluster_does_what_was_recorded(case: Case, live: LiveCluster) -> None:
    difference = await differing_step(case, live, quiet=0.6)
    assert not difference, difference
