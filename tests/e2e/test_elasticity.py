"""Jobs whose number of workers changes while they train, and what lasts longer than a job."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from e2e.node_metrics import NodeMetrics
from e2e.real_cluster import RealCluster
from e2e.running_cluster import REPOSITORY, Cluster, eventually

MANIFESTS = Path(__file__).parent / "manifests"
SECONDS = 120.0
STEPS = 300

pytestmark = pytest.mark.timeout(600)


class Step(NamedTuple):
    """A step of the training as rank 0 wrote it down: `ranks` is how many took part, `time` in seconds since the epoch."""

    step: int
    loss: float
    ranks: int
    time: float


class Shared:
    """The directory that all workers of a training see as /steps."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        os.chmod(directory, 0o777)

    def steps(self) -> list[Step]:
        """In the order in which they were made; those after a checkpoint may stand here again."""
        file = self.directory / "log"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [Step(**json.loads(line)) for line in lines if line.endswith("\n")]

    def saved(self) -> int:
        """The step of the newest complete checkpoint."""
        return max((int(found.parent.name[5:]) for found in self.directory.glob("lm/step-*/.metadata")), default=0)

    def goes_on_to_save(self, ranks: int, *, since: float) -> int:
        """Waits until so many ranks have made a step after that time, and saved one; returns it."""
        begun = eventually(lambda: [one for one in self.steps() if one.ranks == ranks and one.time > since], seconds=SECONDS)
        eventually(lambda: self.saved() > begun[0].step, seconds=SECONDS)
        return self.saved()


@pytest.fixture
def metrics(cluster: Cluster) -> Iterator[None]:
    """The API of resource metrics, which the embedded cluster serves by itself."""
    with ExitStack() as stack:
        if isinstance(cluster, RealCluster):
            stack.enter_context(NodeMetrics(cluster))
        yield


@pytest.mark.long
@pytest.mark.usefixtures("metrics")
def test_a_training_grows_with_its_load_and_goes_on_without_a_lost_worker_and_with_fewer(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    shared = Shared(tmp_path)
    config_map, job = yaml.safe_load_all((MANIFESTS / "elastic.yaml").read_text().replace("DIRECTORY", str(tmp_path)))
    config_map["data"]["lm.py"] = (REPOSITORY / "examples/recipes/lm.py").read_text()
    for one in (config_map, job):
        one["metadata"]["namespace"] = namespace
    cluster.apply(config_map, job)

    def workers() -> list[str]:
        return sorted(pod["metadata"]["name"] for pod in cluster.get("pods", "-n", namespace)["items"])

    # It grows by its autoscaler, after the first checkpoint.
    grown = shared.goes_on_to_save(2, since=0)
    alone = [one.step for one in shared.steps() if one.ranks == 1]
    assert alone[0] == 1
    assert min(one.step for one in shared.steps() if one.ranks == 2) > 5, "it began anew"
    assert workers() == ["elastic-worker-0", "elastic-worker-1"]
    autoscaler = cluster.get("hpa", "elastic", "-n", namespace)
    assert autoscaler["spec"]["scaleTargetRef"] == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "elastic"}
    conditions = {one["type"]: (one["status"], one["reason"]) for one in autoscaler["status"]["conditions"]}
    assert conditions["ScalingActive"] == ("True", "ValidMetricFound")
    events = cluster.kubectl("events", "-n", namespace, "--for=hpa/elastic")
    assert "New size: 2; reason: cpu resource utilization (percentage of request) above target" in events
    assert "elastic-worker-0" in cluster.kubectl("top", "pods", "-n", namespace)

    # A worker is lost with its process; the pod that is made in its place joins the other one.
    def worker() -> tuple[str, float]:
        """The present worker 1 by its uid, and when it began to run, 0 as long as it does not."""
        for pod in cluster.get("pods", "-n", namespace, "--field-selector", "metadata.name=elastic-worker-1")["items"]:
            states = [one["state"].get("running", {}) for one in pod["status"].get("containerStatuses", [])]
            times = [datetime.fromisoformat(one["startedAt"]).timestamp() for one in states if one]
            return pod["metadata"]["uid"], max(times, default=0.0)
        return "", 0.0

    lost, _ = worker()

    def replaced() -> float:
        uid, began = worker()
        return began if uid != lost else 0.0

    cluster.kubectl("delete", "pod", "-n", namespace, "elastic-worker-1", "--grace-period=0", "--force")
    began = eventually(replaced, seconds=SECONDS)
    rejoined = shared.goes_on_to_save(2, since=began + 5)  # by then the node has killed the lost one
    assert rejoined > grown

    # Without its metrics it has no autoscaler, and people say how many workers it has.
    cluster.kubectl(
        "patch", "pytorchjob/elastic", "-n", namespace, "--type=merge", "-p", '{"spec":{"elasticPolicy":{"metrics":null}}}'
    )
    eventually(lambda: not cluster.get("hpa", "-n", namespace)["items"])
    done = cluster.shunter("scale", "elastic", "--nodes", "1", "-n", namespace)
    assert done.returncode == 0, done.stderr
    assert shared.goes_on_to_save(1, since=shared.steps()[-1].time) > rejoined
    (tmp_path / "fast").touch()
    cluster.kubectl("wait", "-n", namespace, "pytorchjob/elastic", "--for=condition=Succeeded", "--timeout=150s", timeout=160)
    assert shared.saved() == STEPS
    assert [ranks for ranks, _ in groups(shared.steps())][-1] == 1
    assert_one_training(shared.steps())


def groups(steps: list[Step]) -> list[tuple[int, int]]:
    """The number of ranks and the first step of each group of ranks that took part, one after another."""
    pairs = zip([None, *steps[:-1]], steps, strict=True)
    return [(one.ranks, one.step) for last, one in pairs if last is None or (last.ranks, last.step + 1) != (one.ranks, one.step)]


def assert_one_training(steps: list[Step]) -> None:
    """No step was left out, and who made a step again, on as many ranks or not, found the same loss."""
    losses: dict[int, float] = {}
    for one in steps:
        assert one.step <= len(losses) + 1, f"step {len(losses) + 1} was left out"
        assert one.loss == pytest.approx(losses.setdefault(one.step, one.loss), rel=1e-4), one
    assert sorted(losses) == [*range(1, STEPS + 1)]


@pytest.mark.embedded(why="keeps checkpoints in a volume that the cluster makes")
@pytest.mark.long
def test_a_second_job_resumes_from_the_checkpoint_of_the_first(cluster: Cluster, namespace: str) -> None:
    claim, script, job = yaml.safe_load_all((MANIFESTS / "checkpoints.yaml").read_text())
    for name, line in (("first", "epochs 0 to 3"), ("second", "epochs 3 to 6")):
        job["metadata"]["name"] = name
        cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin="\n---\n".join(map(json.dumps, (claim, script, job))))
        cluster.kubectl("wait", "-n", namespace, f"pytorchjob/{name}", "--for=condition=Succeeded", "--timeout=90s", timeout=100)
        assert line in cluster.kubectl("logs", "-n", namespace, f"{name}-master-0")
    volume = cluster.get("pvc", "checkpoints", "-n", namespace)["spec"]["volumeName"]
    directory = Path(cluster.get("pv", volume)["spec"]["hostPath"]["path"])
    assert (directory / "model.pt").exists()
    cluster.kubectl("delete", "-n", namespace, "pytorchjobs,pvc", "--all", "--timeout=30s")
    eventually(lambda: cluster.try_kubectl("get", "pv", volume).returncode)
    assert not directory.exists()
