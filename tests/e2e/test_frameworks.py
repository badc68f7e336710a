"""Every framework trains for real: processes that find each other by what the operator tells them, and come to one result."""

import re
from pathlib import Path
from typing import Any

import pytest

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
def test_processes_train_one_model(cluster: Any, job: str, said: set[str]) -> None:
    done = cluster.shunter("run", "--replace", str(EXAMPLES / job), timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {words for words in said if words in done.stdout} == said


def test_xgboost_ranks_report_the_same_error_of_one_model(cluster: Any) -> None:
    done = cluster.shunter("run", "--replace", str(EXAMPLES / "v1/xgboostjob.yaml"), timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {words for words in TWO_RANKS if words in done.stdout} == TWO_RANKS
    first, second = re.findall(r"rmse=(\S+) over all data", done.stdout)
    assert first == second
