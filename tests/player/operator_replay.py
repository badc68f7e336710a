"""Plays recorded cases of both job generations in memory: the operator's plans beside those of Job, JobSet and garbage collector.

What the API server does to custom objects (defaults, JobSet's webhooks, server-side apply) is done by the embedded server's own
pure functions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from cluster.controllers.memory_cluster import RESOURCES, MemoryCluster, RefusedError, Slot
from cluster.controllers.replay import Replay, Turn
from player.case import Case, Step
from player.shape import Json
from shunter.api.core import Pod, Service
from shunter.api.field_errors import aggregate
from shunter.api.meta import MetadataOnly
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.trainer.trainjob import TrainJob
from shunter.cluster.apiserver import builtin
from shunter.cluster.apiserver.apply import server_side
from shunter.cluster.apiserver.apply.errors import ApplyError
from shunter.cluster.apiserver.apply.fields import FieldTree, compile_fields
from shunter.cluster.apiserver.custom_resources import crd
from shunter.cluster.apiserver.kinds import Kind, RejectedError
from shunter.cluster.apiserver.object_meta import creation_errors
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.kube.cache.store import Store
from shunter.kube.controllers.plan import NOTHING, Apply, Failure, Key, Plan, Write
from shunter.kube.merge_patch import merge_patch
from shunter.operator.trainer import plan as trainer
from shunter.operator.trainer.plugin import Companion
from shunter.operator.trainer.plugins import COMPANIONS
from shunter.operator.trainer.reconciler import RuntimeReconciler, present_runtime, train_job_of
from shunter.operator.trainer.snapshot import KINDS, snapshot_name
from shunter.operator.trainer.views import ConfigMap, JobOfSet, LiveJobSet, Runtime
from shunter.operator.training import plan as training
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.children import children_of
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS, framework_of
from shunter.operator.training.gang import Gang, pod_groups
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.reconciler import map_unowned_service

DEFINITIONS = Path(__file__).parents[2] / "deploy" / "crds"
TRAINJOB_CONTROLLER = "trainer-trainjob-controller"
RUNTIME_CONTROLLER = "runtime-controller"
JOBS_OF_OPERATOR = {*(framework.info.resource.kind for framework in FRAMEWORKS), "TrainJob"}

RESOURCES |= {
    resource.kind: resource
    for resource in (
        *(framework.info.resource for framework in FRAMEWORKS),
        TRAIN_JOBS,
        TRAINING_RUNTIMES,
        CLUSTER_TRAINING_RUNTIMES,
        CONFIG_MAPS,
        SECRETS,
        SERVICE_ACCOUNTS,
        ROLES,
        ROLE_BINDINGS,
        HORIZONTAL_POD_AUTOSCALERS,
    )
}

Planned = tuple[Plan, Callable[[Failure], Plan]] | None


class ServedCluster(MemoryCluster):
    """Objects that controllers create get the embedded API server's defaults, and are refused in its words."""

    def create(self, body: Json) -> Json:
        obj = copy.deepcopy(body)
        kind = BUILT_IN.get(obj["kind"])
        if kind is not None:
            with_defaults(kind, obj)
        created = super().create(obj)
        if created["kind"] in ("ConfigMap", "Secret", "ServiceAccount", "HorizontalPodAutoscaler", "Role", "RoleBinding"):
            del created["metadata"]["generation"]
        if created["kind"] == "Job":
            # A template keeps its resources: only pods get requests from limits.
            for container, original in zip(_template_containers(created), _template_containers(obj), strict=True):
                container["resources"] = original["resources"]
        return created


def _template_containers(job: Json) -> list[Json]:
    spec = job["spec"]["template"]["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def with_defaults(kind: Kind, obj: Json) -> None:
    """Fills in what the kind's strategy does; raises RefusedError."""
    schema = kind.schema()
    schema.prune(obj)
    schema.default(obj)
    kind.default(obj)
    if kind.resource == SERVICES:
        kind.admit(obj, None, NoObjects())
    checked = copy.deepcopy(obj)
    checked["metadata"] = {"name": "generated", "uid": "0", **checked["metadata"]}
    kind.prepare(checked, None)
    metadata = checked["metadata"]
    faults = [
        *creation_errors(metadata, namespaced=True, name_faults=kind.name_faults),
        *kind.validate(checked, None),
    ]
    if faults:
        group = f".{kind.resource.group}" if kind.resource.group else ""
        message = f'{obj["kind"]}{group} "{checked["metadata"]["name"]}" is invalid: {aggregate(faults)}'
        raise RefusedError(422, "Invalid", message)


class OperatorReplay(Replay):
    """One case, with the operator among the controllers. `gang_scheduler` is the operator's --gang-scheduler-name."""

    def __init__(self, case: Case, *, gang_scheduler: str = "") -> None:
        super().__init__(case)
        self._gang_scheduler = gang_scheduler
        RESOURCES["PodGroup"] = pod_groups(gang_scheduler)
        self.cluster = ServedCluster(self.cluster.now)
        self.cluster.changed = self._changed

    def _as_recorded(self, step: Step, name: str) -> Json:
        obj = super()._as_recorded(step, name)
        if obj["kind"] in JOBS_OF_OPERATOR:
            obj.pop("status", None)
        return obj

    def _changed(self, old: Json | None, new: Json | None) -> None:
        super()._changed(old, new)
        for version in (old, new):
            if version is not None:
                self._queue |= dict.fromkeys(operator_turns(version, self.cluster))

    def _take(self, turn: Turn) -> None:
        planner = PLANNERS.get(turn.controller)
        if planner is None:
            super()._take(turn)
            return
        planned = planner(self, turn.slot)
        if planned is None:
            return
        plan, on_failure = planned
        self._later.pop(turn, None)
        failure = self._execute(plan, turn.controller)
        if failure is not None:
            self._execute(on_failure(failure), turn.controller)
            if failure.reason == "Conflict":
                self._queue[turn] = None
        elif plan.requeue_after is not None:
            self._later[turn] = datetime.fromtimestamp(self.cluster.now.timestamp() + plan.requeue_after, UTC)

    def _write(self, write: Write, component: str) -> Failure | None:
        if not isinstance(write, Apply):
            return super()._write(write, component)
        try:
            self._apply(write)
        except (RefusedError, RejectedError) as refused:
            return Failure(write, refused.code, refused.reason, str(refused))
        except ApplyError as refused:
            return Failure(write, refused.code, refused.reason, f"failed to create typed patch object: {refused}")
        return None

    def _apply(self, write: Apply) -> None:
        metadata = write.body["metadata"]
        slot = Slot(write.resource.kind, Key(metadata["namespace"], metadata["name"]))
        live = self.cluster.get(slot.kind, slot.key)
        served = served_kinds().get(slot.kind)
        if served is None:
            RESOURCES[slot.kind] = write.resource
            if live is None:
                self.cluster.create(write.body)
            else:
                self.cluster.replace(slot, merge_patch(copy.deepcopy(live), copy.deepcopy(write.body)))
            return
        wanted = applied(live, write.body, manager=write.field_manager, now=self.cluster.now)
        if live is None:
            self.cluster.create(wanted)
        else:
            self.cluster.replace(slot, wanted)

    def plan_v1(self, slot: Slot) -> Planned:
        stored = self.cluster.get(slot.kind, slot.key)
        if stored is None:
            return None
        framework = framework_of(slot.kind)
        view = msgspec.convert(stored, framework.info.view)
        job = framework.read(view)
        faults, _ = framework.validate(view, None)
        pods = [msgspec.convert(obj, Pod) for obj in self.cluster.of_kind("Pod", slot.key.namespace)]
        services = [msgspec.convert(obj, Service) for obj in self.cluster.of_kind("Service", slot.key.namespace)]
        labelled = [service for service in services if _is_claimable(service, job.name, job.controller)]
        observed = Observed(
            job=job,
            faults=tuple(faults),
            children=children_of(job, pods, labelled),
            gang=self._gang(slot.key),
            autoscaler=self._autoscaler(slot.key),
            kept=self._kept(framework, job),
        )
        now = self.cluster.now
        return training.plan(framework, observed, now), lambda failure: training.plan_failure(framework, observed, failure, now)

    def _kept(self, framework: AnyFramework, job: AnyJob) -> dict[Resource, Any]:
        found: dict[Resource, Any] = {}
        for kind in framework.info.extra_kinds:
            stored = self.cluster.get(kind.resource.kind, Key(job.namespace, framework.extra_object_names(job)[kind.resource]))
            is_cached = stored is not None and (
                not kind.label_selector or kind.label_selector in stored["metadata"].get("labels", {})
            )
            if is_cached:
                found[kind.resource] = msgspec.convert(stored, kind.view)
        return found

    def _gang(self, key: Key) -> Gang | None:
        if not self._gang_scheduler:
            return None
        stored = self.cluster.get("PodGroup", key)
        return Gang(scheduler=self._gang_scheduler, group=msgspec.convert(stored, PodGroup) if stored else None)

    def _autoscaler(self, key: Key) -> Autoscaler | None:
        stored = self.cluster.get("HorizontalPodAutoscaler", key)
        return msgspec.convert(stored, Autoscaler) if stored else None

    def plan_trainjob(self, slot: Slot) -> Planned:
        stored = self.cluster.get(slot.kind, slot.key)
        if stored is None:
            return None
        job = msgspec.convert(stored, TrainJob)
        snapshot = self.cluster.get("ConfigMap", Key(slot.key.namespace, snapshot_name(slot.key.name)))
        jobset = self.cluster.get("JobSet", slot.key)
        observed = trainer.Observed(
            job=job,
            runtime=present_runtime(job, self._runtimes()),
            snapshot=msgspec.convert(snapshot, ConfigMap) if snapshot else None,
            jobset=msgspec.convert(jobset, LiveJobSet) if jobset else None,
            jobs=self._jobs_of(jobset) if jobset else (),
            companions=self._companions(job),
            randomness=b"replayed",
        )
        now = self.cluster.now
        return trainer.plan(observed, now), lambda failure: trainer.plan_failure(observed, failure, now)

    def _jobs_of(self, jobset: Json) -> tuple[JobOfSet, ...]:
        jobs = (msgspec.convert(obj, JobOfSet) for obj in self.cluster.of_kind("Job", jobset["metadata"]["namespace"]))
        return tuple(job for job in jobs if job.metadata.is_controlled_by(jobset["metadata"]["uid"]))

    def _companions(self, job: TrainJob) -> dict[Companion, Any]:
        views = {"ConfigMap": ConfigMap, "Secret": MetadataOnly, "PodGroup": PodGroup}
        found = {}
        for companion in COMPANIONS:
            kind = companion.resource.kind
            stored = self.cluster.get(kind, Key(job.metadata.namespace, companion.name(job)))
            if stored is not None and stored.get("apiVersion", "v1") == companion.resource.api_version:
                found[companion] = msgspec.convert(stored, views[kind])
        return found

    def plan_runtime(self, slot: Slot) -> Planned:
        resource = RESOURCES[slot.kind]
        reconciler = RuntimeReconciler(resource, self._runtimes()[resource])
        runtime = reconciler.observe(slot.key)
        return (reconciler.plan(runtime, self.cluster.now), lambda failure: NOTHING) if runtime else None

    def _runtimes(self) -> dict[Resource, Store[Runtime]]:
        stores: dict[Resource, Store[Runtime]] = {}
        for resource in KINDS.values():
            stores[resource] = Store()
            for obj in self.cluster.of_kind(resource.kind):
                stores[resource].put(msgspec.convert(obj, Runtime))
        return stores


def applied(live: Json | None, body: Json, *, manager: str, now: datetime) -> Json:
    """The custom object as the API server stores it after an apply: with defaults, and passed by JobSet's own webhooks. Raises
    RefusedError, RejectedError, ApplyError."""
    served = served_kinds()[body["kind"]]
    wanted: Json = copy.deepcopy(
        server_side.apply(
            copy.deepcopy(live),
            copy.deepcopy(body),
            tree=served.tree,
            manager=manager,
            force=True,
            api_version=body["apiVersion"],
            now=now,
        )
    )
    schema = served.kind.schema()
    schema.prune(wanted)
    schema.default(wanted)
    served.kind.admit(wanted, live, NoObjects())
    schema.default(wanted)
    faults = schema.validate(wanted, live)
    if faults:
        raise RefusedError(422, "Invalid", "; ".join(map(str, faults)))
    served.kind.review(wanted, live, NoObjects())
    return wanted


class NoObjects:
    """JobSet's admission looks at nothing else."""

    def get(self, *_: object) -> None:
        return None

    def all(self, *_: object) -> tuple[Json, ...]:
        return ()


def operator_turns(obj: Json, cluster: object) -> Iterable[Turn]:
    kind, metadata = obj["kind"], obj["metadata"]
    namespace = metadata.get("namespace", "")
    if kind in CONTROLLER_OF:
        yield Turn(CONTROLLER_OF[kind], Slot(kind, Key(namespace, metadata["name"])))
    if kind == "HorizontalPodAutoscaler":
        return
    if kind == "Job":
        yield from (Turn(TRAINJOB_CONTROLLER, Slot("TrainJob", key)) for key in train_job_of(msgspec.convert(obj, JobOfSet)))
    if kind == "Service":
        service = msgspec.convert(obj, Service)
        turns = [(one.info.resource.kind, key) for one in FRAMEWORKS for key in map_unowned_service(one.info.resource)(service)]
        yield from (Turn(CONTROLLER_OF[job], Slot(job, key)) for job, key in turns)
    for reference in metadata.get("ownerReferences", []):
        if reference.get("controller") and reference["kind"] in JOBS_OF_OPERATOR:
            yield Turn(CONTROLLER_OF[reference["kind"]], Slot(reference["kind"], Key(namespace, reference["name"])))


def _is_claimable(service: Service, job_name: str, controller: str) -> bool:
    labels = service.metadata.labels
    return service.metadata.controller is not None or (
        labels.get("training.kubeflow.org/job-name") == job_name
        and labels.get("training.kubeflow.org/operator-name") == controller
    )


class Custom(NamedTuple):
    """One custom kind and its fields, for server-side apply."""

    kind: Kind
    tree: FieldTree

    @property
    def resource(self) -> Resource:
        return self.kind.resource


@cache
def served_kinds() -> dict[str, Custom]:
    """The custom kinds of deploy/crds, by name."""
    found = {}
    for file in DEFINITIONS.glob("*.yaml"):
        for kind in crd.kinds(yaml.load(file.read_text(), yaml.CSafeLoader)):
            found[kind.resource.kind] = Custom(kind, compile_fields(kind.schema().openapi, definitions()))
    return found


DEFAULTED = (PODS, SERVICES, JOBS, HORIZONTAL_POD_AUTOSCALERS)
BUILT_IN = {kind.resource.kind: kind for kind in builtin.kinds() if kind.resource in DEFAULTED}
CONTROLLER_OF = {
    **{framework.info.resource.kind: f"{framework.info.resource.kind.lower()}-controller" for framework in FRAMEWORKS},
    "TrainJob": TRAINJOB_CONTROLLER,
    "TrainingRuntime": RUNTIME_CONTROLLER,
    "ClusterTrainingRuntime": RUNTIME_CONTROLLER,
}
PLANNERS: dict[str, Callable[[OperatorReplay, Slot], Planned]] = {
    **{CONTROLLER_OF[framework.info.resource.kind]: OperatorReplay.plan_v1 for framework in FRAMEWORKS},
    TRAINJOB_CONTROLLER: OperatorReplay.plan_trainjob,
    RUNTIME_CONTROLLER: OperatorReplay.plan_runtime,
}
