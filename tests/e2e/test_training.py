"""Real torch ranks, on the manifests that users start from."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
SCRIPT = str(EXAMPLES / "training-script.yaml")
NO_GPU = re.compile("no GPUs found|requires at least one CUDA device")
"""What torch says of NCCL without a GPU; the words differ between its releases."""
NCCL_ONLY = str(Path(__file__).parent / "manifests/nccl-only-script.yaml")

pytestmark = pytest.mark.timeout(300)


def reported(output: str) -> set[tuple[int, int]]:
    """(rank, world size) of every rank that printed them."""
    return {(int(rank), int(size)) for rank, size in re.findall(r"Rank (\d+)/(\d+) initialized", output)}


def test_the_single_node_example_trains_unchanged(cluster: Any) -> None:
    done = cluster.shunter("run", "--replace", str(EXAMPLES / "v1/pytorch-simple.yaml"), timeout=120)
    assert done.returncode == 0, done.stderr
    assert "[master-0] Training completed successfully!" in done.stdout
    assert "asked for 1 nvidia.com/gpu, this machine has none: runs on CPU" in done.stderr


@pytest.mark.parametrize(
    "job",
    [pytest.param("v1/pytorch-distributed-ddp.yaml", marks=pytest.mark.long), "v2/trainjob-ddp.yaml"],
    ids=["PyTorchJob", "TrainJob"],
)
def test_four_ranks_train_together(cluster: Any, job: str) -> None:
    done = cluster.shunter("run", "--replace", SCRIPT, str(EXAMPLES / job), timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout
    assert reported(done.stdout) == {(rank, 4) for rank in range(4)}
    assert "Model saved" in done.stdout


@pytest.mark.long
def test_an_nccl_only_script_ends_failed_and_says_why(cluster: Any) -> None:
    job = EXAMPLES / "v1/pytorch-distributed-ddp.yaml"
    done = cluster.shunter("run", "--replace", NCCL_ONLY, str(job), timeout=240)
    assert done.returncode == 1
    assert "PyTorchJob training/pytorch-distributed-ddp failed" in done.stderr
    assert NO_GPU.search(done.stderr)
    described = cluster.shunter("describe", "pytorch-distributed-ddp", "-n", "training").stdout
    assert "State    Failed" in described
    assert NO_GPU.search(described)
    states = {row["name"]: row["state"] for row in json.loads(cluster.shunter("jobs", "-o", "json").stdout)}
    assert states["pytorch-distributed-ddp"] == "Failed"
    assert cluster.shunter("delete", "pytorch-distributed-ddp").returncode == 0
