"""People's own DDP and FSDP scripts, each started by one command: as they stand it is told why they fail, and with the changes
that docs/training names they train."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from e2e.running_cluster import Cluster, SharedClaim
from shunter.operator.needs import NO_GPU

pytestmark = pytest.mark.timeout(240)

SCRIPTS = Path(__file__).parent / "scripts"
WEIGHTS = 3 * (64 * 64 + 64) + 64 * 10 + 10


@pytest.mark.parametrize("kind", ["ddp", pytest.param("fsdp", marks=pytest.mark.long)])
def test_a_script_for_gpus_is_told_what_to_change_and_trains_when_it_is(
    cluster: Cluster, namespace: str, shared_claim: SharedClaim, kind: str
) -> None:
    def run(script: str) -> tuple[int, str]:
        program = ["run", str(SCRIPTS / f"{script}.py"), "-n", namespace, "--nodes", "2", "--checkpoints", shared_claim.name]
        started = [*program, "--restarts", "0", "-e", "OMP_NUM_THREADS=1"]
        done = cluster.shunter(*started, timeout=110)
        return done.returncode, done.stdout + done.stderr

    code, said = run(f"{kind}_before")
    assert code == 1, said
    assert re.search(rf"TrainJob {namespace}/{kind}-before failed: node-\d: exit code 1: RuntimeError: nccl", said), said
    assert NO_GPU in said
    assert NO_GPU in cluster.shunter("describe", f"{kind}-before", "-n", namespace).stdout

    code, said = run(f"{kind}_after")
    assert code == 0, said
    losses = {
        (int(rank), int(epoch)): float(loss) for rank, epoch, loss in re.findall(r"rank (\d), epoch (\d): loss ([\d.]+)", said)
    }
    assert set(losses) == {(rank, epoch) for rank in range(2) for epoch in range(2)}, said
    assert losses[0, 0] == losses[1, 0] > losses[0, 1] == losses[1, 1]
    kept = shared_claim.directory / f"{kind}-after"
    saved = {"ddp": ["model.pt"], "fsdp": ["checkpoint_0.pt", "checkpoint_1.pt"]}
    assert sorted(path.name for path in kept.iterdir()) == saved[kind]
    if kind == "fsdp":
        assert f"saved {WEIGHTS} weights" in said
