"""Which CRDs of v1 may be deleted, and why others stay."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.migrate.moving.v1_crds import crd_removals


def definition(name: str, **changes: Any) -> Json:
    found = next(crd for crd in packaged_crds() if crd["metadata"]["name"] == name)
    metadata = {**found["metadata"], "uid": "1", **changes.pop("metadata", {})}
    return {**found, "status": {"storedVersions": ["v1"]}, **changes, "metadata": metadata}


BOTH = [{"name": "v1", "served": True, "storage": False}, {"name": "v2beta1", "served": True, "storage": True}]
HELM = {"annotations": {"meta.helm.sh/release-name": "training-operator", "meta.helm.sh/release-namespace": "kubeflow"}}
ENDINGS: dict[str, tuple[Json, dict[str, list[str]], dict[str, list[str]], str]] = {
    "nothing needs it": (definition("tfjobs.kubeflow.org"), {}, {}, "nothing of it is left"),
    "jobs are left": (
        definition("tfjobs.kubeflow.org"), {"TFJob": ["TFJob a/x", "TFJob a/y"]}, {},
        "2 of its objects exist: TFJob a/x, TFJob a/y"),
    "the mpi-operator's as well": (
        definition("mpijobs.kubeflow.org", spec={"versions": BOTH}), {}, {},
        "it is another product's as well: its versions are v1, v2beta1"),
    "objects stored as another version": (
        definition("tfjobs.kubeflow.org", status={"storedVersions": ["v1beta2", "v1"]}), {}, {},
        "it is another product's as well: its versions are v1, v1beta2"),
    "a Helm release holds objects of it": (
        definition("tfjobs.kubeflow.org"), {}, {"TFJob": ["team/jobs"]},
        "Helm releases hold objects of it and could not be upgraded any more: team/jobs"),
    "Helm looks after it": (
        definition("tfjobs.kubeflow.org", metadata=HELM), {}, {},
        "it belongs to Helm release kubeflow/training-operator: remove it there"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS.values(), ids=list(ENDINGS))
def test_a_definition_goes_only_when_nothing_needs_it(
    case: tuple[Json, dict[str, list[str]], dict[str, list[str]], str],
) -> None:
    crd, objects, releases, why = case
    [found] = crd_removals([crd], objects, releases)
    assert found.why == why
    assert (found.step is not None) == (why == "nothing of it is left")


def test_definitions_of_v2_are_none_of_v1s() -> None:
    assert list(crd_removals([definition("trainjobs.trainer.kubeflow.org")], {}, {})) == []
