"""A cluster in memory whose controllers are the plans of workloads, and whose pods do what the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from cluster.controllers.memory_cluster import MemoryCluster, RefusedError
from shunter.api.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from shunter.api.core import Node, Pod
from shunter.api.meta import Json, MetadataOnly, ObjectMeta, rfc3339
from shunter.cluster.controllers.daemonset import plan as daemonset
from shunter.cluster.controllers.daemonset.pod import DaemonPod
from shunter.cluster.controllers.deployment import plan as deployment
from shunter.cluster.controllers.replicaset import plan as replicaset
from shunter.cluster.controllers.statefulset import plan as statefulset
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Key, Patch, Plan, Write
from shunter.kube.merge_patch import difference

T = TypeVar("T")
NAMESPACE = "w"
LABELS = {"app": "x"}


class World:
    """`dies`, asked before each write, ends the controller that writes; all are looked at again then."""

    def __init__(self, *, nodes: Iterable[str] = (), dies: Callable[[], bool] = lambda: False) -> None:
        self.cluster = MemoryCluster(datetime(2026, 11, 21, 12, tzinfo=UTC))
        self.nodes = tuple(Node(metadata=ObjectMeta(name=name)) for name in nodes)
        self.watch: Callable[[], None] = lambda: None
        """Called after every write."""
        self.refused: Callable[[Json], str] = lambda body: ""
        """Why the server refuses to create an object; empty where it does not."""
        self._dies = dies

    # --- what users do

    def create(self, kind: str, name: str = "x", **spec: Any) -> None:
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "one"}]}}
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"selector": {"matchLabels": LABELS}, "template": template, **spec}
        self.cluster.create({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": body})

    def change(self, kind: str, patch: Json, name: str = "x") -> None:
        self.cluster.patch(kind, Key(NAMESPACE, name), {"spec": patch})

    def set_image(self, kind: str, image: str) -> None:
        self.change(kind, {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}})

    # --- what is there

    def get(self, kind: str, view: type[T], name: str = "x") -> T:
        found = self.cluster.get(kind, Key(NAMESPACE, name))
        assert found is not None, f"{kind} {name} is there"
        return msgspec.convert(found, view)

    def all(self, kind: str, view: type[T]) -> tuple[T, ...]:
        return tuple(msgspec.convert(obj, view) for obj in self.cluster.of_kind(kind))

    @property
    def pods(self) -> list[Json]:
        return self.cluster.of_kind("Pod")

    def images(self) -> list[str]:
        """Of all pods that are to stay."""
        kept = [pod for pod in self.pods if "deletionTimestamp" not in pod["metadata"]]
        return sorted(pod["spec"]["containers"][0]["image"] for pod in kept)

    # --- what nodes do

    def set_pod(self, pod: Json, phase: str) -> None:
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        status = {"phase": phase, "conditions": [{**ready, "lastTransitionTime": rfc3339(self.cluster.now)}]}
        self.cluster.patch("Pod", _key(pod), {"status": status}, subresource="status")

    def run_pods(self) -> None:
        for pod in self.pods:
            if pod.get("status", {}).get("phase") in (None, "Pending"):
                self.set_pod(pod, "Running")

    # --- what controllers do

    def settle(self, *, steps: int = 400) -> None:
        """Until no controller writes anything."""
        for _ in range(steps):
            if not self.step():
                return
        raise AssertionError("controllers do not come to rest")

    def step(self) -> bool:
        """Every controller looks at everything once; whether anything was written."""
        wrote = False
        for kind, planned in _PLANNERS.items():
            for obj in self.cluster.of_kind(kind):
                if self.cluster.get(kind, _key(obj)) is not None:
                    wrote |= self._carry_out(*planned(self, obj))
        return wrote

    def settle_with_pods(self) -> None:
        """Until nothing changes while all pods become ready."""
        for _ in range(200):
            self.settle()
            waiting = [pod for pod in self.pods if pod.get("status", {}).get("phase") in (None, "Pending")]
            if not waiting:
                return
            self.run_pods()
        raise AssertionError("the workload never settles")

    def _carry_out(self, plan: Plan, on_failure: Callable[[Failure], Plan]) -> bool:
        try:
            wrote, failure = self._write_all(plan)
            if failure is not None:
                after, _ = self._write_all(on_failure(failure))
                wrote |= after
        except KilledError:
            return True
        return wrote

    def _write_all(self, plan: Plan) -> tuple[bool, Failure | None]:
        for write in plan.writes:
            if (failure := self._write(write)) is not None:
                return True, failure
        wrote = bool(plan.writes)
        if plan.status is not None and (patch := difference(plan.status.observed, plan.status.desired)):
            self._may_die()
            ref = plan.status.ref
            self.cluster.patch(ref.resource.kind, Key(ref.namespace, ref.name), {"status": patch}, subresource="status")
            wrote = True
        return wrote, None

    def _write(self, write: Write) -> Failure | None:
        self._may_die()
        try:
            match write:
                case Create(body=body):
                    if why := self.refused(body):
                        raise RefusedError(403, "Forbidden", why)
                    made = self.cluster.create(body)
                    if made["kind"] == "Pod":
                        self.cluster.patch("Pod", _key(made), {"status": {"phase": "Pending"}}, subresource="status")
                case Patch(ref=ref, patch=patch, subresource=subresource):
                    self.cluster.patch(ref.resource.kind, Key(ref.namespace, ref.name), patch, subresource=subresource)
                case Delete(ref=ref, propagation=propagation):
                    self.cluster.delete(ref.resource.kind, Key(ref.namespace, ref.name), propagation, uid=ref.uid)
                case _:
                    raise AssertionError(write)
        except RefusedError as refused:
            return Failure(write, refused.code, refused.reason, refused.message)
        self.watch()
        return None

    def _may_die(self) -> None:
        if self._dies():
            raise KilledError

    def plan_deployment(self, obj: Json) -> tuple[Plan, Callable[[Failure], Plan]]:
        view = msgspec.convert(obj, Deployment)
        pods = self.all("Pod", Pod)
        sets = self.all("ReplicaSet", ReplicaSet)
        by_owner = {one.metadata.uid: tuple(p for p in pods if p.metadata.is_controlled_by(one.metadata.uid)) for one in sets}
        observed = deployment.Observed(deployment=view, replica_sets=sets, pods=by_owner)
        now = self.cluster.now
        return deployment.plan(observed, now), lambda failure: deployment.plan_failure(observed, failure, now)

    def plan_replica_set(self, obj: Json) -> tuple[Plan, Callable[[Failure], Plan]]:
        pods = self.all("Pod", Pod)
        observed = replicaset.Observed(replica_set=msgspec.convert(obj, ReplicaSet), pods=pods, siblings=pods)
        now = self.cluster.now
        return replicaset.plan(observed, now), lambda failure: replicaset.plan_failure(observed, failure, now)

    def plan_stateful_set(self, obj: Json) -> tuple[Plan, Callable[[Failure], Plan]]:
        claims = {claim.metadata.name: claim for claim in self.all("PersistentVolumeClaim", MetadataOnly)}
        observed = statefulset.Observed(
            stateful_set=msgspec.convert(obj, StatefulSet),
            pods=self.all("Pod", Pod),
            revisions=self.all("ControllerRevision", ControllerRevision),
            claims=claims,
        )
        return statefulset.plan(observed, self.cluster.now), lambda failure: NOTHING

    def plan_daemon_set(self, obj: Json) -> tuple[Plan, Callable[[Failure], Plan]]:
        observed = daemonset.Observed(
            daemon_set=msgspec.convert(obj, DaemonSet),
            pods=self.all("Pod", DaemonPod),
            revisions=self.all("ControllerRevision", ControllerRevision),
            nodes=self.nodes,
        )
        return daemonset.plan(observed, self.cluster.now), lambda failure: NOTHING


class KilledError(Exception):
    """The process died between two writes."""


_PLANNERS: dict[str, Callable[[World, Json], tuple[Plan, Callable[[Failure], Plan]]]] = {
    "Deployment": World.plan_deployment,
    "ReplicaSet": World.plan_replica_set,
    "StatefulSet": World.plan_stateful_set,
    "DaemonSet": World.plan_daemon_set,
}


def _key(obj: Json) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
STATEFUL: dict[str, Any] = {
    "replicas": 3,
    "serviceName": "x",
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
}
DAEMON: dict[str, Any] = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}


def names(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.pods)


def key(name: str) -> Key:
    return Key("w", name)
