"""Who would undo, or repeat, what is changed of an object."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.meta import Json, ObjectMeta
from shunter.api.ownership import controller_of, controller_uid, is_of_former, other_manager, owner_of
from shunter.api.resources import JOBS

TRIAL = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "tune-x7", "uid": "t", "controller": True}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"}
HELM = {"meta.helm.sh/release-name": "jobs", "meta.helm.sh/release-namespace": "training"}


def obj(*owners: Json, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> Json:
    metadata = {"name": "j", "namespace": "n", "labels": labels, "annotations": annotations, "ownerReferences": [*owners]}
    return {"metadata": {name: value for name, value in metadata.items() if value}}


@pytest.mark.parametrize(
    ("managed", "manager"),
    [
        (obj(annotations=HELM), "Helm release training/jobs"),
        (obj(labels={"helm.toolkit.fluxcd.io/name": "r"}, annotations=HELM), "Flux HelmRelease r"),
        (obj(labels={"kustomize.toolkit.fluxcd.io/name": "apps"}), "Flux Kustomization apps"),
        (obj(annotations={"argocd.argoproj.io/tracking-id": "app:kubeflow.org/PyTorchJob:n/j"}), "Argo CD application app"),
        (obj(labels={"argocd.argoproj.io/instance": "app"}), "Argo CD application app"),
        (obj(annotations={"argocd.argoproj.io/instance": "app"}), "Argo CD application app"),
        (obj(labels={"team": "a"}), ""),
    ],
    ids=["Helm", "Flux, by Helm", "Flux, by kustomize", "Argo CD", "Argo CD by a label", "or by an annotation", "nobody"],
)
def test_a_tool_is_known_by_its_marks(managed: Json, manager: str) -> None:
    assert other_manager(managed) == manager
    assert owner_of(managed) == manager


def test_the_object_that_made_it_goes_before_tools_and_before_other_owners() -> None:
    made = obj(OWNER, TRIAL, annotations=HELM)
    assert (controller_of(made), controller_uid(made)) == ("Trial n/tune-x7", "t")
    assert owner_of(made) == "Trial n/tune-x7"
    assert (controller_of(obj(OWNER)), controller_uid(obj(OWNER))) == ("ConfigMap n/c", "")
    assert owner_of(obj()) == ""


@pytest.mark.parametrize(("uid", "is_former"), [("old", True), ("new", False)])
def test_what_an_earlier_owner_of_the_name_owns_is_garbage(uid: str, is_former: bool) -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}
    metadata = msgspec.convert({"name": "p", "ownerReferences": [reference]}, ObjectMeta)
    assert is_of_former(metadata, JOBS, ObjectMeta(name="j", uid="new")) is is_former
    assert not is_of_former(metadata, JOBS, ObjectMeta(name="other", uid="new"))
