"""PyTorchJob's defaults and validation, against what Training Operator v1.9 answered on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shunter.api.field_errors import aggregate
from shunter.api.training import pytorch_rules
from shunter.api.training.pytorch import ElasticPolicy, PyTorchJob, PyTorchJobSpec

RECORDED = yaml.load((Path(__file__).parents[1] / "recordings" / "pytorchjob-admission.yaml").read_text(), yaml.CSafeLoader)

MANAGED_BY_CHANGES = {
    "pt-managedby-update: set (step 1)",
    "pt-managedby-update: set (step 2)",
    "pt-managedby-update: unset (step 3)",
    "pt-managedby-update: unset (step 4)",
}
"""Upstream compares the new object with itself, so changes pass there."""


def job(obj: Any) -> PyTorchJob:
    return msgspec.convert(obj, PyTorchJob)


@pytest.mark.parametrize("case", RECORDED, ids=[case["case"] for case in RECORDED])
def test_admission_answers_as_training_operator_did(case: dict[str, Any]) -> None:
    errors = pytorch_rules.errors(job(case["object"]), job(case["old"]) if "old" in case else None)
    if case["case"] in MANAGED_BY_CHANGES:
        assert "field is immutable" in aggregate(errors)
    else:
        assert (aggregate(errors) if errors else "") == case.get("refused", "")
    assert pytorch_rules.warnings(job(case["object"])) == case.get("warnings", [])


def minimal(**spec: Any) -> PyTorchJob:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "img:1"}]}}
    replicas = {"Master": {"replicas": 1, "template": template}, "Worker": {"template": template}}
    return job({"metadata": {"name": "job"}, "spec": {"pytorchReplicaSpecs": replicas, **spec}})


def defaulted(**spec: Any) -> PyTorchJobSpec:
    return pytorch_rules.with_defaults(minimal(**spec).spec)


def test_defaults_fill_what_is_missing_and_keep_the_rest() -> None:
    spec = defaulted(runPolicy={"backoffLimit": 3})
    assert spec.run_policy.clean_pod_policy == "None"
    assert spec.run_policy.backoff_limit == 3
    assert {role: (replica.replicas, replica.restart_policy) for role, replica in spec.pytorch_replica_specs.items()} == {
        "Master": (1, "OnFailure"),
        "Worker": (1, "OnFailure"),
    }
    assert spec.nproc_per_node == "auto"


@pytest.mark.parametrize(
    ("elastic", "workers", "bounds"),
    [
        ({"minReplicas": 1, "maxReplicas": 4}, 2, (1, 4)),
        ({"minReplicas": 1}, 2, (1, 1)),
        ({"maxReplicas": 4}, 2, (4, 4)),
        ({}, 2, (2, 2)),
        ({}, None, (1, 1)),
    ],
    ids=["both given", "only the lower", "only the upper", "neither", "neither, and workers by default"],
)
def test_missing_elastic_bounds_are_derived(elastic: dict[str, int], workers: int | None, bounds: tuple[int, int]) -> None:
    worker = {"replicas": workers} if workers else {}
    policy = defaulted(elasticPolicy=elastic, pytorchReplicaSpecs={"Worker": worker}).elastic_policy
    assert policy is not None
    assert (policy.min_replicas, policy.max_replicas) == bounds


def test_an_elastic_job_without_workers_gets_no_bounds_instead_of_a_crash() -> None:
    assert defaulted(elasticPolicy={}, pytorchReplicaSpecs={"Master": {}}).elastic_policy == ElasticPolicy()


def test_the_deprecated_number_of_processes_keeps_auto_away() -> None:
    spec = defaulted(elasticPolicy={"nProcPerNode": 2})
    assert spec.nproc_per_node is None
