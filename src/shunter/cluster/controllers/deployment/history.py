"""The versions of a Deployment: which ReplicaSet has its template, which are older, and the numbers they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from shunter.api.apps import Deployment, ReplicaSet
from shunter.api.formats.digits import whole_number
from shunter.api.meta import EPOCH, LAST_APPLIED, Json, ObjectMeta
from shunter.cluster.controllers.deployment.bounds import max_surge

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
TEMPLATE_HASH = "pod-template-hash"
_NOT_COPIED = (
    LAST_APPLIED,
    "deprecated.deployment.rollback.to",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
)
_MOST_HISTORY = 2000
"""Characters of the annotation with earlier revisions."""
NO_LIMIT = 2**31 - 1


class Versions(NamedTuple):
    """The ReplicaSets of a Deployment, older ones in the order in which they were made."""

    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]

    @property
    def all(self) -> tuple[ReplicaSet, ...]:
        """The older ones as they are, then the new one if there is one."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active_old(self) -> tuple[ReplicaSet, ...]:
        """The older ones that are to have pods."""
        return active(self.old)


def versions(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> Versions:
    """The oldest ReplicaSet with the Deployment's template is the new one."""
    ordered = sorted(replica_sets, key=by_creation)
    template = without_hash(deployment.spec.template)
    new = next((one for one in ordered if without_hash(one.spec.template) == template), None)
    return Versions(new, tuple(one for one in ordered if one is not new))


def active(replica_sets: Iterable[ReplicaSet]) -> tuple[ReplicaSet, ...]:
    """The ReplicaSets that should have pods."""
    return tuple(one for one in replica_sets if one.spec.replicas > 0)


def by_creation(replica_set: ReplicaSet) -> tuple[datetime, str]:
    """A sort key: the oldest first, those of the same second by name."""
    return replica_set.metadata.creation_timestamp or EPOCH, replica_set.metadata.name


def without_hash(template: Json) -> Json:
    """The template without the label that tells ReplicaSets apart, so that it can be compared; `labels` is left out where it
    would be empty."""
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.pop("labels", None) or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


def revision(metadata: ObjectMeta) -> int:
    """The number of a version; 0 for one without."""
    return number(metadata, REVISION) or 0


def number(metadata: ObjectMeta, annotation: str) -> int | None:
    """What an annotation counts; None where it is not there, or is no number."""
    found = whole_number(metadata.annotations.get(annotation, ""))
    return found if found is not None and found <= NO_LIMIT else None


def new_annotations(deployment: Deployment, versions: Versions) -> dict[str, str]:
    """The annotations that the ReplicaSet with the Deployment's template should have, as far as they are the Deployment's matter:
    its own, and the next revision, unless it has the latest already."""
    before: Mapping[str, str] = versions.new.metadata.annotations if versions.new is not None else {}
    desired = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    text, latest = before.get(REVISION, ""), max((revision(one.metadata) for one in versions.old), default=0) + 1
    known = number(versions.new.metadata, REVISION) if versions.new is not None else None
    if text and known is None:
        return desired
    if (known or 0) < latest:
        desired[REVISION] = str(latest)
        if text:
            desired[REVISION_HISTORY] = _extended(before.get(REVISION_HISTORY, ""), text)
    return desired


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """Annotations that distinguish a later change of the Deployment's replicas from a rollout."""
    replicas = deployment.spec.replicas
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def superfluous(deployment: Deployment, old: Sequence[ReplicaSet]) -> tuple[ReplicaSet, ...]:
    """The oldest versions beyond revisionHistoryLimit that have no pods."""
    limit = deployment.spec.revision_history_limit
    kept = [one for one in old if one.metadata.deletion_timestamp is None]
    if limit == NO_LIMIT or len(kept) <= limit:
        return ()
    ordered = sorted(kept, key=lambda one: (revision(one.metadata), *by_creation(one)))
    return tuple(one for one in ordered[: len(kept) - limit] if _is_idle(one))


def _is_idle(replica_set: ReplicaSet) -> bool:
    counted = replica_set.status.observed_generation >= replica_set.metadata.generation
    return counted and replica_set.status.replicas == 0 and replica_set.spec.replicas == 0


def _extended(history: str, text: str) -> str:
    """The earlier revisions, separated by commas, with one more; the oldest give way."""
    earlier = history.split(",") if history else []
    while earlier and len(",".join([*earlier, text])) > _MOST_HISTORY:
        earlier.pop(0)
    return ",".join([*earlier, text])
