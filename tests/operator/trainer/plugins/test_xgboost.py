"""XGBoost: what processes are told about their group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.render import jobset_for

Make = Callable[..., Any]
RANK = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def node(job: TrainJob, runtime: Json) -> Json:
    (replicated,) = jobset_for(job, runtime)["spec"]["replicatedJobs"]
    found: Json = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize(
    ("limits", "trainer", "workers"),
    [
        ({}, {}, "2"),
        ({"nvidia.com/gpu": 4}, {}, "8"),
        ({"nvidia.com/gpu": 4}, {"numNodes": 3}, "12"),
        ({"nvidia.com/gpu": 4}, {"resourcesPerNode": {"requests": {"amd.com/gpu": "2"}}}, "4"),
        ({"nvidia.com/gpu": 4}, {"resourcesPerNode": {"requests": {"cpu": "2"}}}, "2"),
        ({"cpu": 16}, {"numProcPerNode": 7}, "2"),
    ],
    ids=["one a node", "one a GPU", "of all nodes", "the job's GPUs", "a job without GPUs", "processes do not count"],
)
def test_xgboost_counts_a_worker_for_each_gpu(
    make_trainjob: Make, runtime_of: Make, limits: Json, trainer: Json, workers: str
) -> None:
    pod = {"containers": [{"name": "node", "image": "img", "resources": {"limits": limits}}]}
    container = node(make_trainjob(trainer=trainer), runtime_of({"xgboost": {}, "numNodes": 2}, node=pod))
    assert container["env"] == [
        {"name": "DMLC_TRACKER_URI", "value": "mnist-node-0-0.mnist"},
        {"name": "DMLC_TRACKER_PORT", "value": "29500"},
        {"name": "DMLC_TASK_ID", "valueFrom": RANK},
        {"name": "DMLC_NUM_WORKER", "value": workers},
    ]


@pytest.mark.parametrize("policy", [{"jax": {}}, {"xgboost": {}}], ids=["jax", "xgboost"])
def test_a_job_without_trainer_section_is_told_nothing(make_trainjob: Make, runtime_of: Make, policy: Json) -> None:
    assert node(make_trainjob(), runtime_of(policy)) == {"name": "node", "image": "img:node"}


def test_each_variable_of_xgboost_is_reserved(make_trainjob: Make, runtime_of: Make, refusals: Make) -> None:
    names = ["DMLC_TRACKER_URI", "OK", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"]
    job = make_trainjob(trainer={"env": [{"name": name, "value": "1"} for name in names]})
    assert refusals(job, runtime_of({"xgboost": {}})) == [
        f"spec.trainer.env[{index}]: Forbidden: {name} is reserved for the XGBoost runtime"
        for index, name in enumerate(names)
        if name != "OK"
    ]
    assert refusals(job, runtime_of({"jax": {}})) == []
