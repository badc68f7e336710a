"""A job's pods and services by role and index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TypeVar

import msgspec

from shunter.api.core import Pod, Service
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import REPLICA_TYPE, index_of, job_labels

Child = TypeVar("Child", Pod, Service)


class Children(msgspec.Struct, frozen=True, dict=True):
    """Pods and services that the job owns; services without an owner but with its labels stand in for its own, but are not
    its to delete."""

    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()

    def pods_of(self, replica_type: str) -> Sequence[Pod]:
        """Pods of one role by index; pods without a valid index are left out."""
        return self._pods_by_role.get(replica_type.lower(), ())

    def pods_in_role(self, replica_type: str) -> list[Pod]:
        """Pods of one role, with or without an index."""
        return [pod for pod in self.pods if pod.metadata.labels.get(REPLICA_TYPE) == replica_type.lower()]

    def services_of(self, replica_type: str) -> Sequence[Service]:
        """Services of one role by index, including those without an owner; services without a valid index are left out."""
        return self._services_by_role.get(replica_type.lower(), ())

    @cached_property
    def _pods_by_role(self) -> Mapping[str, Sequence[Pod]]:
        return _by_role(self.pods)

    @cached_property
    def _services_by_role(self) -> Mapping[str, Sequence[Service]]:
        return _by_role(self.services)


def children_of(job: AnyJob, pods: Iterable[Pod], services: Iterable[Service]) -> Children:
    """What of these pods and services belongs to the job, sorted by name so that plans are the same every time. What was given
    other labels is not the job's any more, though it owns it."""
    uid, labels = job.metadata.uid, job_labels(job)
    labelled_pods = (pod for pod in pods if labels.items() <= pod.metadata.labels.items())
    labelled_services = (service for service in services if labels.items() <= service.metadata.labels.items())
    owned_pods = (pod for pod in labelled_pods if pod.metadata.is_controlled_by(uid))
    owned_services = (
        service for service in labelled_services if service.metadata.controller is None or service.metadata.is_controlled_by(uid)
    )
    return Children(
        tuple(sorted(owned_pods, key=lambda pod: pod.metadata.name)),
        tuple(sorted(owned_services, key=lambda service: service.metadata.name)),
    )


def is_own(child: Child) -> bool:
    """Whether the job owns one of its children, and may delete it: it does not own a service that stands in."""
    return child.metadata.controller is not None


def index(child: Child) -> int:
    """The replica index of a child that `pods_of` or `services_of` gave."""
    found = index_of(child.metadata.labels)
    assert found is not None
    return found


def _by_role(children: tuple[Child, ...]) -> Mapping[str, Sequence[Child]]:
    """The objects with an index, by role and index. Several rules ask for them in one look at a job of thousands."""
    numbered: dict[str, list[tuple[int, Child]]] = defaultdict(list)
    for child in children:
        if (place := index_of(child.metadata.labels)) is not None:
            numbered[child.metadata.labels.get(REPLICA_TYPE, "")].append((place, child))
    return {role: [child for _, child in sorted(found, key=itemgetter(0))] for role, found in numbered.items()}
