"""The environment of PyTorchJob's pods."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.api.meta import Json
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.frameworks.pytorch import processes_per_node
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]


def environment(pod: Json, container: int = 0) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in pod["spec"]["containers"][container]["env"]}


def test_master_and_workers_are_told_the_group_in_upstreams_order(make_job: MakeJob) -> None:
    pods = desired_pods(PYTORCH, make_job({"Master": 1, "Worker": 2}))
    assert environment(pods[2]) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "bert-master-0",
        "PET_MASTER_ADDR": "bert-master-0",
        "WORLD_SIZE": "3",
        "RANK": "2",
        "PET_NODE_RANK": "2",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "3",
    }
    assert list(environment(pods[0])) == list(environment(pods[2]))
    assert environment(pods[0])["RANK"] == "0"


def test_worker_only_job_gets_no_master_address(make_job: MakeJob) -> None:
    (pod, _) = desired_pods(PYTORCH, make_job({"Worker": 2}))
    assert list(environment(pod)) == ["PYTHONUNBUFFERED", "PET_NPROC_PER_NODE", "PET_NNODES"]


@pytest.mark.parametrize(
    ("nproc", "processes"),
    [
        ("4", 4),
        ("+4", 4),
        ("-3", -3),
        ("0", 0),
        ("auto", 1),
        ("gpu", 1),
        ("", 1),
        (None, 1),
        ("1_0", 1),
        (" 4", 1),
        (str(2**63), 1),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_only_numbers_multiply_the_world_size(nproc: str | None, processes: int) -> None:
    assert processes_per_node(nproc) == processes


def test_elastic_workers_are_told_where_to_meet(make_job: MakeJob) -> None:
    """The missing bound copies the other."""
    elastic = {
        "minReplicas": 2,
        "rdzvId": "ring",
        "maxRestarts": 3,
        "rdzvConf": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}],
    }
    (pod,) = desired_pods(PYTORCH, make_job({"Worker": 1}, elasticPolicy=elastic))
    assert list(environment(pod).items())[2:] == [
        ("PET_RDZV_ENDPOINT", "bert-worker-0:23456"),
        ("PET_RDZV_BACKEND", "c10d"),
        ("PET_NNODES", "2:2"),
        ("PET_MAX_RESTARTS", "3"),
        ("PET_RDZV_ID", "ring"),
        ("PET_RDZV_CONF", "a=1,b=2"),
    ]


def test_an_empty_rdzv_conf_says_nothing(make_job: MakeJob) -> None:
    (pod,) = desired_pods(PYTORCH, make_job({"Worker": 1}, elasticPolicy={"rdzvConf": []}))
    assert "PET_RDZV_CONF" not in environment(pod)
