"""The kinds that can be on or off: what belongs to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.install.template import On

RESOURCES: Mapping[str, Sequence[Resource]] = {
    **{kind.resource.kind: (kind.resource,) for kind in JOB_KINDS},
    TRAIN_JOBS.kind: (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES),
}
"""What users of a kind write, the job first."""

_KINDS = {resource: kind for kind, resources in RESOURCES.items() for resource in resources}


def is_on(resource: Resource) -> On:
    """Holds when the resource is served."""
    return On(f"kinds.{_KINDS[resource]}")
