"""What manages an object beside its users, by its owner references and the marks of tools. Pure."""

from __future__ import annotations

from shunter.api.meta import Json, ObjectMeta
from shunter.api.resources import Resource

ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
ARGO_INSTANCE = "argocd.argoproj.io/instance"
FLUX_KUSTOMIZATION = "kustomize.toolkit.fluxcd.io/name"
FLUX_HELM_RELEASE = "helm.toolkit.fluxcd.io/name"
HELM_RELEASE = "meta.helm.sh/release-name"
HELM_NAMESPACE = "meta.helm.sh/release-namespace"
MARKS = {
    "labels": (FLUX_HELM_RELEASE, FLUX_KUSTOMIZATION, ARGO_INSTANCE),
    "annotations": (HELM_RELEASE, HELM_NAMESPACE, ARGO_TRACKING, ARGO_INSTANCE),
}
"""Labels and annotations with which tools mark the objects that they manage."""


def other_manager(obj: Json) -> str:
    """The tool that would undo what is changed in the cluster: `Helm release training/jobs`; empty when there is none."""
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if release := labels.get(FLUX_HELM_RELEASE):
        return f"Flux HelmRelease {release}"
    if release := annotations.get(HELM_RELEASE):
        return f"Helm release {annotations.get(HELM_NAMESPACE, '')}/{release}"
    if kustomization := labels.get(FLUX_KUSTOMIZATION):
        return f"Flux Kustomization {kustomization}"
    if application := annotations.get(ARGO_TRACKING):
        return f"Argo CD application {application.partition(':')[0]}"
    if application := labels.get(ARGO_INSTANCE) or annotations.get(ARGO_INSTANCE):
        return f"Argo CD application {application}"
    return ""


def controller_reference(obj: Json) -> Json | None:
    """The owner reference to the object that controls this one; None where nothing does."""
    return next((owner for owner in obj["metadata"].get("ownerReferences") or () if owner.get("controller")), None)


def controller_uid(obj: Json) -> str:
    """The uid of the object that controls this one; empty where nothing does."""
    return str((controller_reference(obj) or {}).get("uid", ""))


def controller_of(obj: Json) -> str:
    """The object that made this one and may make it anew: `Trial training/tune-x7`; empty when none did."""
    metadata = obj["metadata"]
    owners = metadata.get("ownerReferences") or ()
    for owner in sorted(owners, key=lambda owner: not owner.get("controller")):
        place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        return f"{owner.get('kind')} {place}{owner.get('name')}"
    return ""


def is_of_former(metadata: ObjectMeta, resource: Resource, owner: ObjectMeta) -> bool:
    """Whether an earlier owner of the same name owns the object: it is garbage, and has its name until it is collected."""
    identity = (resource.api_version, resource.kind, owner.name)
    return any((one.api_version, one.kind, one.name) == identity and one.uid != owner.uid for one in metadata.owner_references)


def owner_of(obj: Json) -> str:
    """What would undo, or repeat, a change made in the cluster; empty when the object is its users' alone."""
    return controller_of(obj) or other_manager(obj)
