"""A small world for generated jobs: one job of any kind, what it owns, and the operator's own shell and plans, with no server.

Objects are kept as the API server would keep them; `look` carries one plan out. Pods do what a test says.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from cluster.controllers.memory_cluster import as_stored
from shunter.api.core import Pod, Service
from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, PODS, SERVICES, Resource
from shunter.kube.cache.store import Store
from shunter.kube.controllers.plan import Create, Delete, Key, Note, Patch, Plan, Write
from shunter.kube.merge_patch import merge_patch
from shunter.operator.deleted_pods import Deletions
from shunter.operator.ended_pods import EndedPods
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.reconciler import INDEXES, SERVICE_INDEXES, TrainingReconciler

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
LOOKS = 12
"""So many looks at most until nothing changes any more."""


class World:
    """`has_grace`: pods that are deleted stay until `end_pod`, as a kubelet ends those that run, and as an API server shows the
    others for a moment. `before_write` is called before each write, with its number."""

    def __init__(self, framework: AnyFramework, job: Json, *, has_grace: bool = False) -> None:
        self.framework = framework
        self.has_grace = has_grace
        self.before_write: Callable[[int], None] = lambda number: None
        self.writes = 0
        self.told: list[Note] = []
        self.name = job["metadata"]["name"]
        self.now = START
        self.objects: dict[tuple[Resource, str], Json] = {}
        self.deletions = Deletions()
        self.ended_pods = EndedPods()
        self._pods: dict[str, Pod] = {}
        """As the operator saw them last."""
        self._version = 0
        self._keep(framework.info.resource, job)

    def branch(self) -> World:
        """Another world that is now as this one, and goes its own way from here."""
        other = copy.copy(self)
        other.told = [*self.told]
        other.objects = {place: as_stored(body) for place, body in self.objects.items()}
        other.deletions = copy.deepcopy(self.deletions)
        other.ended_pods = copy.deepcopy(self.ended_pods)
        other._pods = dict(self._pods)
        return other

    @property
    def job(self) -> Json:
        return self.objects[self.framework.info.resource, self.name]

    @property
    def status(self) -> Json:
        status: Json = self.job.get("status", {})
        return status

    @property
    def is_gone(self) -> bool:
        """Whether the job was deleted, its time to live being over."""
        return (self.framework.info.resource, self.name) not in self.objects

    @property
    def is_finished(self) -> bool:
        return any(
            one["type"] in ("Succeeded", "Failed") and one["status"] == "True" for one in self.status.get("conditions", ())
        )

    @property
    def is_suspended(self) -> bool:
        return bool(self.job["spec"].get("runPolicy", {}).get("suspend"))

    @property
    def children(self) -> list[tuple[Resource, str]]:
        """The places of the job's pods and services."""
        return [place for place in self.objects if place[0] in (PODS, SERVICES)]

    @property
    def faults(self) -> list[FieldError]:
        """What admission would refuse."""
        return self.framework.validate(msgspec.convert(self.job, self.framework.info.view), None)[0]

    def all(self, resource: Resource) -> dict[str, Json]:
        """The objects of one kind by name."""
        return {name: body for (other, name), body in self.objects.items() if other == resource}

    def plan(self, order: random.Random | None = None) -> Plan:
        """What the operator plans now, having been told of everything; in some order and some of it twice when one is given."""
        views: dict[Resource, Any] = {
            self.framework.info.resource: self.framework.info.view,
            PODS: Pod,
            SERVICES: Service,
            HORIZONTAL_POD_AUTOSCALERS: Autoscaler,
            **{kept.resource: kept.view for kept in self.framework.info.extra_kinds},
        }
        indexes: dict[Resource, Any] = {PODS: INDEXES, SERVICES: SERVICE_INDEXES}
        stores: dict[Resource, Store[Any]] = {resource: Store(indexes.get(resource, {})) for resource in views}
        told = list(self.objects.items())
        if order is not None:
            told += order.sample(told, order.randint(0, len(told)))
            order.shuffle(told)
        for (resource, _), body in told:
            stores[resource].put(_view(msgspec.json.encode(body), views[resource]))
        own, pods, services, autoscalers, *_ = stores.values()
        for pod in pods.list():
            self.deletions.changed(None, pod)
            self.ended_pods.changed(self._pods.get(pod.metadata.name), pod)
        self._pods = {pod.metadata.name: pod for pod in pods.list()}
        kept = {kind.resource: stores[kind.resource] for kind in self.framework.info.extra_kinds}
        reconciler = TrainingReconciler(
            self.framework, own, pods, services, autoscalers, deletions=self.deletions, ended_pods=self.ended_pods, kept=kept
        )
        observed = reconciler.observe(Key("team-a", self.name))
        assert observed is not None
        return reconciler.plan(observed, self.now)

    def look(self) -> bool:
        """Carries out one plan, a second later; whether that changed anything."""
        self.now += timedelta(seconds=1)
        before = dict(self.objects)  # each write puts a new object in the place of the old one
        plan = self.plan()
        for write in plan.writes:
            self._count()
            self._written(write)
        if plan.status is not None and not self.is_gone and plan.status.desired != plan.status.observed:
            self._count()
            if plan.status.resource_version != self.job["metadata"]["resourceVersion"]:
                return True  # a Conflict
            self._keep(self.framework.info.resource, {**self.job, "status": plan.status.desired})
        self.told += plan.events
        is_same = before.keys() == self.objects.keys()
        return not is_same or not all(_is_same(body, self.objects[place]) for place, body in before.items())

    def settle(self) -> None:
        """Looks until nothing changes any more; a job must get there soon."""
        for _ in range(LOOKS):
            if self.is_gone or not self.look():
                return
        raise AssertionError(f"the job does not come to rest: {self.plan()}")

    def set_pod(self, name: str, phase: str, *, exit_code: int = 0, finished_at: datetime | None = None) -> None:
        """The kubelet's word about a pod."""
        body = self.objects[PODS, name]
        state: Json = {"Running": {"running": {}}, "Pending": {"waiting": {}}}.get(phase) or {
            "terminated": {"exitCode": exit_code, **({"finishedAt": rfc3339(finished_at)} if finished_at else {})}
        }
        containers = [{"name": container["name"], "state": state} for container in body["spec"]["containers"]]
        self._keep(PODS, {**body, "status": {"phase": phase, "containerStatuses": containers}})

    @property
    def leaving(self) -> list[str]:
        """The names of pods that are being deleted."""
        return [name for name, body in self.all(PODS).items() if "deletionTimestamp" in body["metadata"]]

    def end_pod(self, name: str) -> None:
        """A pod that was being deleted is gone."""
        assert name in self.leaving
        del self.objects[PODS, name]

    def set_suspended(self, is_suspended: bool) -> None:
        spec = self.job["spec"]
        policy = {**spec.get("runPolicy", {}), "suspend": is_suspended}
        self._keep(self.framework.info.resource, {**self.job, "spec": {**spec, "runPolicy": policy}})

    def set_replicas(self, role: str, replicas: int) -> None:
        field = self.framework.info.replica_specs
        spec = self.job["spec"]
        roles = {**spec[field], role: {**spec[field][role], "replicas": replicas}}
        self._keep(self.framework.info.resource, {**self.job, "spec": {**spec, field: roles}})

    def _count(self) -> None:
        self.writes += 1
        self.before_write(self.writes)

    def _written(self, write: Write) -> None:
        match write:
            case Create(resource=resource, body=body):
                name = body["metadata"]["name"]
                assert (resource, name) not in self.objects, f"{resource.kind} {name} is made twice"
                self._keep(resource, as_stored(body))
            case Patch(ref=ref, patch=patch):
                self._keep(ref.resource, merge_patch(as_stored(self.objects[ref.resource, ref.name]), patch))
            case Delete(ref=ref):
                body = self.objects[ref.resource, ref.name]
                if ref.resource == PODS and self.has_grace:
                    grace = 30 if body.get("status", {}).get("phase") == "Running" else 0
                    deleted = {"deletionTimestamp": rfc3339(self.now), "deletionGracePeriodSeconds": grace}
                    leaving = {**body["metadata"], **deleted}
                    self._keep(PODS, {**body, "metadata": leaving})
                else:
                    del self.objects[ref.resource, ref.name]
            case _:
                raise AssertionError(write)

    def _keep(self, resource: Resource, body: Json) -> None:
        self._version += 1
        metadata = {"uid": f"u{self._version}", **body["metadata"], "resourceVersion": str(self._version)}
        self.objects[resource, metadata["name"]] = {**body, "metadata": metadata}


@lru_cache(maxsize=2**12)
def _view(body: bytes, view: type[Any]) -> Any:
    """What the operator's informer makes of an object; most objects stay as they are from one look to the next."""
    return msgspec.json.decode(body, type=view)


def _is_same(one: Json, other: Json) -> bool:
    return one is other or _without_version(one) == _without_version(other)


def _without_version(body: Json) -> Json:
    return {**body, "metadata": {**body["metadata"], "resourceVersion": "", "uid": ""}}
