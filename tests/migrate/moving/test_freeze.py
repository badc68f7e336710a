"""The freeze of v1: new jobs are warned of, later refused; those that are there go on."""

from __future__ import annotations

import pytest

from shunter.kube.errors import Status, from_status
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.moving.freeze import DENYING, MESSAGE, binding, name, policy, refuses


def test_the_policy_is_about_new_jobs_of_all_kinds_of_v1_and_not_about_the_mpi_operators() -> None:
    spec = policy("p1")["spec"]
    assert spec["matchConstraints"] == {
        "matchPolicy": "Exact",
        "resourceRules": [
            {
                "apiGroups": ["kubeflow.org"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"],
            }
        ],
    }
    assert (spec["failurePolicy"], spec["validations"][0]["expression"]) == ("Ignore", "false")


def test_the_binding_warns_until_it_is_made_to_deny() -> None:
    first = binding("p1", [])
    assert first["spec"] == {"policyName": name("p1"), "validationActions": ["Warn", "Audit"]}
    assert merge_patch(first, DENYING)["spec"]["validationActions"] == ["Deny"]


def test_only_the_namespaces_of_the_plan_are_frozen() -> None:
    (chosen,) = binding("p1", ["b", "a"])["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert chosen == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}


@pytest.mark.parametrize(
    ("message", "is_ours"),
    [
        (f"ValidatingAdmissionPolicy 'shunter-migration-p9' with binding 'x' denied request: {MESSAGE}", True),
        (f"ValidatingAdmissionPolicy 'another' with binding 'x' denied request: {MESSAGE}", False),
        ("ValidatingAdmissionPolicy 'shunter-migration-p9' with binding 'x' denied request: no", False),
    ],
)
def test_a_refusal_by_a_freeze_is_told_from_others(message: str, is_ours: bool) -> None:
    assert refuses(from_status(Status(code=403, reason="Forbidden", message=message))) is is_ours
