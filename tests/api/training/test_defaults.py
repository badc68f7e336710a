"""Defaults that all job kinds of kubeflow.org/v1 share: roles, numbers, restart policies, the default port."""

from __future__ import annotations

from typing import Any

import pytest

from api.training.kind_rules import JX, PD, PT, TF, XGB, Rules
from shunter.api.training.defaults import replica_specs_with_defaults


@pytest.mark.parametrize(
    ("rules", "policy"),
    [(PT, "OnFailure"), (TF, "Never"), (XGB, "Never"), (JX, "Never"), (PD, "OnFailure")],
    ids=["PyTorch", "TF", "XGBoost", "JAX", "Paddle"],
)
def test_defaults_fill_in_what_upstreams_do(rules: Rules, policy: str) -> None:
    specs = {role.lower(): rules.replica(None) for role in rules.kind.roles}
    job = rules.job(specs)
    spec = rules.module.with_defaults(job.spec)
    defaulted: dict[str, Any] = next(getattr(spec, field) for field in spec.__struct_fields__ if field.endswith("replica_specs"))
    assert list(defaulted) == list(rules.kind.roles)
    assert {(replica.replicas, replica.restart_policy) for replica in defaulted.values()} == {(1, policy)}
    port = rules.kind.port
    assert port is not None
    (container,) = defaulted["Worker"].template["spec"]["containers"]
    assert container["ports"] == [{"name": port.name, "containerPort": port.number}]
    assert spec.run_policy.clean_pod_policy == "None"


def test_defaults_leave_the_given_object_alone() -> None:
    given = PT.job(PT.good())
    PT.module.with_defaults(given.spec)
    assert given == PT.job(PT.good())


def test_roles_are_spelled_as_the_kind_spells_them_and_the_master_comes_first() -> None:
    replicas = {"worker": {"replicas": 2}, "MASTER": {"replicas": 1}}
    specs = PT.job(replicas).spec.pytorch_replica_specs
    assert list(replica_specs_with_defaults(specs, PT.kind)) == ["Master", "Worker"]


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
    specs = PT.job({"Master": {"template": {"spec": {"containers": containers}}}}).spec.pytorch_replica_specs
    template = replica_specs_with_defaults(specs, PT.kind)["Master"].template
    assert [container.get("ports") for container in template["spec"]["containers"]] == ports
