"""Every framework trains for real: processes that find each other by what the operator tells them, and come to one result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from e2e.running_cluster import Cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
TWO_RANKS = {"Rank 0/2 initialized", "Rank 1/2 initialized"}

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("v1/tfjob-multiworker.yaml", TWO_RANKS | {"weight=3.000"}),
        ("v1/tfjob-parameter-server.yaml", {"ps 0 serves", "worker 1 serves", "learned by 2 workers"}),
        ("v1/jaxjob-psum.yaml", TWO_RANKS | {"psum=3"}),
        ("v1/paddlejob-collective.yaml", {"sum=3"}),
    ],
    ids=lambda value: Path(value).stem if isinstance(value, str) else "",
)
def test_processes_train_one_model(cluster: Cluster, namespace: str, job: str, said: set[str]) -> None:
    output = run(cluster, namespace, job)
    assert {words for words in said if words in output} == said


def test_xgboost_ranks_report_the_same_error_of_one_model(cluster: Cluster, namespace: str) -> None:
    output = run(cluster, namespace, "v1/xgboostjob.yaml")
    assert {words for words in TWO_RANKS if words in output} == TWO_RANKS
    first, second = re.findall(r"rmse=(\S+) over all data", output)
    assert first == second


def run(cluster: Cluster, namespace: str, job: str) -> str:
    """What the pods of an example print until it has succeeded."""
    manifest = yaml.safe_load((EXAMPLES / job).read_text())
    manifest["metadata"]["namespace"] = namespace
    done = cluster.shunter("run", "-", stdin=json.dumps(manifest), timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
