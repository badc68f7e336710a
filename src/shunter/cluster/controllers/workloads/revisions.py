"""The versions of a template that StatefulSets and DaemonSets keep as ControllerRevisions.

`data` is the strategic merge patch that brings the version back: `kubectl rollout undo` applies it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shunter.api.apps import ControllerRevision
from shunter.api.meta import EPOCH, Json
from shunter.api.resources import CONTROLLER_REVISIONS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.kube.controllers.plan import Create, Patch, Ref


def data_of(template: Json) -> Json:
    """What a revision with this template holds."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> Json:
    """The template that a revision holds."""
    return {key: value for key, value in revision.data["spec"]["template"].items() if key != "$patch"}


def ordered(revisions: Iterable[ControllerRevision]) -> tuple[ControllerRevision, ...]:
    """From the oldest to the newest."""

    def age(one: ControllerRevision) -> tuple[int, datetime, str]:
        return one.revision, one.metadata.creation_timestamp or EPOCH, one.metadata.name

    return tuple(sorted(revisions, key=age))


def creation(owner: Owner, name: str, template: Json, *, labels: dict[str, str], number: int) -> Create:
    """Makes a revision of the owner's template as it is now."""
    own_labels = (template.get("metadata") or {}).get("labels") or {}
    metadata: Json = {
        "name": name,
        "namespace": owner.metadata.namespace,
        "labels": {**own_labels, **labels},
        "ownerReferences": [owner.reference],
    }
    if owner.metadata.annotations:
        metadata["annotations"] = owner.metadata.annotations
    resource = CONTROLLER_REVISIONS
    body: Json = resource.typed({"metadata": metadata})
    return Create(resource=resource, body={**body, "data": data_of(template), "revision": number})


def renumbering(revision: ControllerRevision, number: int) -> Patch:
    """Makes a revision that was used before the newest."""
    return Patch(ref=Ref.of(CONTROLLER_REVISIONS, revision.metadata), patch={"revision": number})
