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


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ({}, {}, False),
        ({}, {"managedBy": "kubeflow.org/training-operator"}, True),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, {}, True),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, {"managedBy": "kueue.x-k8s.io/multikueue"}, False),
    ],
    ids=["never set", "added", "removed", "kept"],
)
def test_managed_by_never_changes(before: dict[str, str], after: dict[str, str], refused: bool) -> None:
    errors = pytorch_rules.errors(minimal(runPolicy=after), minimal(runPolicy=before))
    value = f'"{after["managedBy"]}"' if after else "null"
    assert [str(error) for error in errors] == (
        [f"spec.runPolicy.managedBy: Invalid value: {value}: field is immutable"] if refused else []
    )


@pytest.mark.parametrize("spec", [{"pytorchReplicaSpecs": {}}, {}], ids=["empty", "absent"])
def test_a_job_without_roles_is_refused(spec: dict[str, Any]) -> None:
    errors = pytorch_rules.errors(job({"metadata": {"name": "job"}, "spec": spec}), None)
    assert aggregate(errors) == "spec.pytorchReplicaSpecs: Required value: must be required"


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


def test_defaults_leave_the_given_object_alone() -> None:
    given = minimal()
    pytorch_rules.with_defaults(given.spec)
    assert given == minimal()


def test_roles_are_spelled_as_the_kind_spells_them_and_the_master_comes_first() -> None:
    replicas = {"worker": {"replicas": 2}, "MASTER": {"replicas": 1}}
    assert list(defaulted(pytorchReplicaSpecs=replicas).pytorch_replica_specs) == ["Master", "Worker"]


PORT = {"name": "pytorchjob-port", "containerPort": 23456}


@pytest.mark.parametrize(
    ("containers", "ports"),
    [
        ([{"name": "pytorch"}], [[PORT]]),
        ([{"name": "side"}, {"name": "pytorch"}], [None, [PORT]]),
        ([{"name": "side"}, {"name": "other"}], [[PORT], None]),
        ([{"name": "pytorch", "ports": [{"name": "pytorchjob-port", "containerPort": 1}]}], [[{**PORT, "containerPort": 1}]]),
        ([{"name": "pytorch", "ports": [{"containerPort": 23456}]}], [[{"containerPort": 23456}, PORT]]),
        ([], []),
    ],
    ids=[
        "no ports",
        "the container called pytorch",
        "else the first container",
        "a port of that name stays",
        "a port of that number is doubled",
        "no containers",
    ],
)
def test_the_default_port_is_found_by_name(containers: list[Any], ports: list[Any]) -> None:
    spec = defaulted(pytorchReplicaSpecs={"Master": {"template": {"spec": {"containers": containers}}}})
    template = spec.pytorch_replica_specs["Master"].template
    assert [container.get("ports") for container in template["spec"]["containers"]] == ports


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
