"""The claims that a JobSet makes for its pods."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.volume_claims import claims_of

SPEC = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}


def claims(*policies: Json) -> list[Json]:
    metadata = {"name": "x", "namespace": "n", "uid": "u"}
    return claims_of(msgspec.convert({"metadata": metadata, "spec": {"volumeClaimPolicies": policies}}, JobSet))


def test_a_claim_is_of_its_template_with_the_jobsets_name_and_label() -> None:
    metadata = {"name": "data", "labels": {"a": "b", "jobset.sigs.k8s.io/jobset-name": "y"}, "annotations": {"c": "d"}}
    (claim,) = claims({"templates": [{"metadata": metadata, "spec": SPEC}]})
    assert claim == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-x",
            "namespace": "n",
            "labels": {"a": "b", "jobset.sigs.k8s.io/jobset-name": "x"},
            "annotations": {"c": "d"},
        },
        "spec": SPEC,
    }


@pytest.mark.parametrize(
    ("policy", "owned"),
    [
        pytest.param({}, False, id="no policy: kept"),
        pytest.param({"retentionPolicy": {"whenDeleted": "Retain"}}, False, id="Retain"),
        pytest.param({"retentionPolicy": {"whenDeleted": "Delete"}}, True, id="Delete"),
        pytest.param({"retentionPolicy": {}}, True, id="a policy that says nothing: the default is Delete"),
    ],
)
def test_claims_to_be_deleted_with_the_jobset_are_its_own(policy: Json, *, owned: bool) -> None:
    (claim,) = claims({"templates": [{"metadata": {"name": "data"}, "spec": SPEC}], **policy})
    assert [one["uid"] for one in claim["metadata"].get("ownerReferences", [])] == (["u"] if owned else [])


def test_every_template_of_every_policy_makes_a_claim() -> None:
    names = [claim["metadata"]["name"] for claim in claims(*({"templates": [{"metadata": {"name": name}}]} for name in "ab"))]
    assert names == ["a-x", "b-x"]
