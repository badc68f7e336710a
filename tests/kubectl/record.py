"""Records what kubectl, the oldest and the newest, shows of a real API server:

    PYTHONPATH=tests:conformance .venv/bin/python tests/kubectl/record.py      (or: make kubectl-answers)

Starts the control plane of conformance/ with this machine as its node. Every answer is given twice before it is kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from control_plane import ControlPlane
from e2e.node_metrics import NodeMetrics
from e2e.real_cluster import RealCluster
from e2e.running_cluster import Cluster
from kubectl.binaries import supported_kubectls
from kubectl.play import play
from kubectl.table import ANSWERS, stories, write_answers


def record(cluster: Cluster) -> None:
    """Writes answers/. Raises SystemExit where an answer differs from run to run."""
    kubectls = supported_kubectls()
    asked = {version: list(stories()) for version in kubectls}
    first, second = play(cluster, kubectls, asked), play(cluster, kubectls, asked)
    for version, told in first.items():
        for story, answers in told.items():
            for answer, again in zip(answers, second[version][story], strict=True):
                if answer != again:
                    raise SystemExit(f"kubectl {version} {answer['run']}: the answers differ from run to run:\n{answer}\n{again}")
    for path in ANSWERS.glob("*.json"):
        path.unlink()
    for version, told in first.items():
        write_answers(version, told)
        print(f"kubectl {version}: {sum(map(len, told.values()))} answers")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, ControlPlane(Path(directory) / "plane") as plane:
        cluster = RealCluster(plane)
        try:
            cluster.up()
            with NodeMetrics(cluster):
                record(cluster)
        finally:
            cluster.down()


if __name__ == "__main__":
    main()
