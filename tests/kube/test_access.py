"""How permissions that a user lacks are named."""

from __future__ import annotations

import pytest

from shunter.api.resources import NODES, PODS, ROLES, TRAIN_JOBS
from shunter.kube.access import Request, listed


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (Request("list", PODS, ""), "pods"),
        (Request("get", PODS._replace(plural="pods/log"), "team-a"), "pods/log in namespace team-a"),
        (Request("create", ROLES, "team-a"), "roles.rbac.authorization.k8s.io in namespace team-a"),
    ],
)
def test_an_object_is_named_as_kubectl_names_it(request_: Request, named: str) -> None:
    assert request_.object == named


def test_verbs_on_the_same_objects_are_named_together_and_once() -> None:
    jobs = [Request(verb, TRAIN_JOBS, "team-a") for verb in ("patch", "create")]
    assert listed([Request("list", NODES, ""), *jobs]) == (
        "list nodes, create/patch trainjobs.trainer.kubeflow.org in namespace team-a"
    )
    assert listed([Request("list", PODS, "a"), Request("list", PODS, "b")]) == (
        "list pods in namespace a, list pods in namespace b"
    )
    assert listed([]) == ""
