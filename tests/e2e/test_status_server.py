"""Progress from inside a pod, by the official SDK, unmodified."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from control_plane import ControlPlane, free_ports
from e2e.embedded_cluster import EmbeddedCluster
from e2e.real_cluster import RealCluster
from e2e.running_cluster import Cluster, Component, eventually

pytestmark = pytest.mark.timeout(240)

NAME = "status.shunter.test"
REPORTER = Path(__file__).parents[2] / "examples" / "recipes" / "progress.py"
LEVELS = ("namespaces", "plain")
SCRIPT = """
from kubeflow.trainer import update_trainjob_status
from kubeflow.trainer.backends.kubernetes import utils
for percent in (10, 60):
    utils._last_update_time = 0
    assert update_trainjob_status(progress_percent=percent, estimated_remaining_seconds=9, metrics={"loss": 0.5})
print("reported", flush=True)
"""


@pytest.fixture(params=LEVELS)
def reporting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of its own with the feature gate on, since it changes every JobSet."""
    running: EmbeddedCluster | RealCluster
    stack = ExitStack()
    if request.config.getoption("cluster") == "real":
        plane = stack.enter_context(ControlPlane(tmp_path / "plane"))
        running = RealCluster(plane, options=flags(request.param))
        running.up()
    else:
        running = EmbeddedCluster(tmp_path / "state")
        running.up("--level", request.param)
    with stack:
        try:
            yield running
        finally:
            running.down()


def flags(level: str) -> dict[Component, list[str]]:
    """What the embedded cluster tells its components about the status server."""
    (port,) = free_ports(1)
    operator = ["--feature-gates=TrainJobStatus=true", f"--status-server-host={NAME}", f"--status-server-port={port}"]
    return {"operator": operator, "node": [f"--level={level}", f"--reach={NAME}:{port}=127.0.0.1:{port}"]}


def test_a_pod_reports_its_progress(reporting: Cluster) -> None:
    reporting.create_namespace("progress")
    job: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "my-job", "namespace": "progress"},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"command": ["python", "-c", SCRIPT], "numNodes": 1},
        },
    }
    reporting.apply(job)
    try:
        reporting.kubectl("wait", "trainjob/my-job", "-n", "progress", "--for=condition=Complete", "--timeout=120s", timeout=150)
    except AssertionError:
        log = reporting.try_kubectl("logs", "-n", "progress", "-l", "jobset.sigs.k8s.io/jobset-name=my-job").stdout
        pytest.fail(f"{log}\n{reporting.kubectl('describe', 'pods', '-n', 'progress')}")

    def status() -> dict[str, Any]:
        found: dict[str, Any] = reporting.get("trainjob/my-job", "-n", "progress")["status"].get("trainerStatus", {})
        return found if found.get("progressPercentage") == 60 else {}

    found = eventually(status)
    assert (found["estimatedRemainingSeconds"], found["metrics"]) == (9, [{"name": "loss", "value": "0.5"}])
    assert "Complete" in os.linesep.join(condition["type"] for condition in conditions(reporting))


def test_the_list_shows_what_the_reporter_of_the_recipes_reports(reporting: Cluster) -> None:
    reporting.create_namespace("progress")
    script = f"""{REPORTER.read_text()}
progress = Progress()
progress.report(step=120, steps=300, loss=1.2345)
progress.checkpoint(100, seconds=1.5, every=50)
progress.close()
"""
    job: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "my-job", "namespace": "progress"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"command": ["python", "-c", script], "numNodes": 1}},
    }
    reporting.apply(job)
    reporting.kubectl("wait", "trainjob/my-job", "-n", "progress", "--for=condition=Complete", "--timeout=120s", timeout=150)

    def row() -> list[str]:
        header, *rows = reporting.shunter("jobs", "-n", "progress").stdout.splitlines()
        return rows[0].split() if "CHECKPOINT" in header else []

    assert [one for one in eventually(row) if one in ("120/300", "1.234", "100")] == ["120/300", "1.234", "100"]
    described = reporting.shunter("describe", "my-job", "-n", "progress").stdout
    assert "Progress step 120/300, 40 %, loss 1.2345, reported" in described
    assert "Checkpoint of step 100, saved" in described


def conditions(reporting: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reporting.get("trainjob/my-job", "-n", "progress")["status"]["conditions"]
    return found
