"""Plays a recorded case on the cluster in memory, with our planners as its controllers.

What users write is taken from the recording (their admission is the API server's matter), what controllers write is made by the
plans. Time passes as it did for the recorder: after each step until nothing has happened for a while.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from cluster.controllers.memory_cluster import RESOURCES, MemoryCluster, RefusedError, Slot, as_stored
from player.case import Case, Step
from player.pod_status import pod_status
from player.record import Recorder
from player.shape import Json, Shapes
from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.api.jobset import JobSet
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.garbage import plan as garbage
from shunter.cluster.controllers.garbage.plan import Member, OwnerState
from shunter.cluster.controllers.job import orphans, ttl
from shunter.cluster.controllers.job import plan as job
from shunter.cluster.controllers.job.memory import FinishMemory
from shunter.cluster.controllers.jobset import plan as jobset
from shunter.kube.controllers.executor import batches
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Key, Note, Patch, Plan, Ref, Write
from shunter.kube.merge_patch import difference, merge_patch

QUIET = 1.5
"""Seconds without a change after which the recorder took a step as done."""


class Turn(NamedTuple):
    """One controller's turn at one object."""

    controller: str
    slot: Slot


class KilledError(Exception):
    """The process died between two writes."""


class Replay:
    """One case. `run` yields the records of its steps. `dies`, asked before each write, kills the controller that writes; it is
    started again and looks at everything anew."""

    def __init__(self, case: Case, *, dies: Callable[[], bool] = lambda: False) -> None:
        self.case = case
        self._dies = dies
        self.cluster = MemoryCluster(datetime(2026, 11, 21, 12, tzinfo=UTC))
        self.cluster.changed = self._changed
        self.shapes = Shapes()
        self._memory = FinishMemory()
        self._queue: dict[Turn, None] = {}
        self._later: dict[Turn, datetime] = {}
        self._events: list[Json] = []

    def run(self) -> Iterable[tuple[Step, Json]]:
        recorder = Recorder(self.shapes)
        for step in self.case.steps:
            self._play(step)
            self._settle()
            mine = [obj for obj in self.cluster if obj["metadata"].get("namespace", self.case.namespace) == self.case.namespace]
            yield step, recorder.record(mine, self._events, [])

    # --- what users do

    def _play(self, step: Step) -> None:
        match step.verb:
            case "apply":
                for answer in step.recorded["answers"]:
                    if answer["code"] == 201:
                        self.cluster.create(self._as_recorded(step, answer["object"]))
            case "patch" | "status":
                targets = self._targets(step.argument)
                for slot, answer in zip(targets, step.recorded["answers"], strict=True):
                    if answer["code"] == 200:
                        self._patch(step, slot, answer["object"])
            case "pods":
                for obj in self.cluster.of_kind("Pod"):
                    if fnmatch.fnmatch(obj["metadata"]["name"], step.argument["match"]):
                        key = Key(self.case.namespace, obj["metadata"]["name"])
                        self.cluster.patch("Pod", key, {"status": pod_status(obj, step.argument)}, subresource="status")
            case "delete":
                for slot in self._targets(step.argument):
                    self.cluster.delete(slot.kind, slot.key, step.argument.get("propagation", "Background"))
            case "wait":
                self._settle(step.argument)

    def _as_recorded(self, step: Step, name: str) -> Json:
        """The object a user created as the API server stored it. Objects that controllers changed in the same step are the
        user's own, admitted."""
        new = step.recorded["new"]
        obj: Json = as_stored(new[name] if name in new else new[f"{name}xxxxx"])
        if obj["kind"] in ("Job", "JobSet"):
            obj.pop("status", None)
        if "namespace" not in obj["metadata"] and RESOURCES[obj["kind"]].namespaced:
            obj["metadata"]["namespace"] = self.case.namespace
        return obj

    def _patch(self, step: Step, slot: Slot, name: str) -> None:
        stored = self.cluster.get(slot.kind, slot.key)
        assert stored is not None
        merged = merge_patch(as_stored(stored), as_stored(step.argument["merge"]))
        if step.verb == "status":
            status = merge_patch(stored.get("status", {}), as_stored(step.argument["merge"]))
            merged = {**stored, "status": {key: value for key, value in status.items() if (key, value) != ("active", 0)}}
        elif "spec" in (recorded := step.recorded.get("changed", {}).get(name, {})):
            text = json.dumps(recorded["spec"])
            merged["spec"] = json.loads(text.replace(f"<uid {slot.kind}/{slot.key.name}>", stored["metadata"]["uid"]))
        elif slot.kind != "PodGroup" and name not in step.recorded.get("removed", ()):
            # What was meant was as it is already, once defaulted and pruned; PodGroups are neither. What went in the same step
            # was not recorded.
            merged["spec"] = stored.get("spec")
        self.cluster.replace(slot, {key: value for key, value in merged.items() if value is not None})

    def _targets(self, what: Json) -> list[Slot]:
        names = [obj["metadata"]["name"] for obj in self.cluster.of_kind(what["kind"])]
        found = sorted(name for name in names if fnmatch.fnmatch(name, what["name"]))
        namespace = self.case.namespace if RESOURCES[what["kind"]].namespaced else ""
        return [Slot(what["kind"], Key(namespace, name)) for name in found]

    # --- what controllers do

    def _changed(self, old: Json | None, new: Json | None) -> None:
        """Wakes the controllers that would be told: of the object itself, of its owner, and of what it owns."""
        obj = new or old
        assert obj is not None
        self.shapes.see(obj)
        for version in (old, new):
            if version is not None:
                for turn in _turns(version, self.cluster):
                    self._queue[turn] = None

    def _settle(self, at_least: float = 0) -> None:
        """Lets controllers work until nothing has been due for QUIET seconds."""
        until = self.cluster.now.timestamp() + at_least
        while True:
            self._drain()
            now = self.cluster.now.timestamp()
            deadline = max(until, now + QUIET)
            due = sorted((moment, turn) for turn, moment in self._later.items())
            if not due or due[0][0].timestamp() > deadline:
                self.cluster.advance(deadline - now)
                return
            moment, turn = due[0]
            self.cluster.advance(max(0, moment.timestamp() - now))
            del self._later[turn]
            self._queue[turn] = None

    def _drain(self) -> None:
        for _ in range(10_000):
            if not self._queue:
                return
            turn = next(iter(self._queue))
            del self._queue[turn]
            self._take(turn)
        raise AssertionError(f"controllers do not come to rest: {list(self._queue)}")

    def _take(self, turn: Turn) -> None:
        planned = _PLANNERS[turn.controller](self, turn.slot)
        if planned is None:
            return
        plan, on_failure = planned
        self._later.pop(turn, None)
        try:
            failure = self._execute(plan, turn.controller)
            if failure is not None:
                self._execute(on_failure(failure), turn.controller)
        except KilledError:
            self._queue[turn] = None
            return
        if failure is not None:
            if failure.reason == "Conflict":
                self._queue[turn] = None
            return
        if plan.requeue_after is not None:
            self._later[turn] = datetime.fromtimestamp(self.cluster.now.timestamp() + plan.requeue_after, UTC)

    def _execute(self, plan: Plan, component: str) -> Failure | None:
        for batch in batches(plan.writes):
            first: Failure | None = None
            for write in batch:
                failure = self._written(write, component)
                if failure is not None and first is None:
                    first = failure
                    if write.failed:
                        self._note(_filled(write.failed, "{error}", failure.message), component)
            if first is not None:
                return first
        if plan.status is not None and (patch := difference(plan.status.observed, plan.status.desired)):
            self._may_die()
            ref = plan.status.ref
            body = {"status": patch, "metadata": {"resourceVersion": plan.status.resource_version}}
            try:
                self.cluster.patch(ref.resource.kind, Key(ref.namespace, ref.name), body, subresource="status")
            except RefusedError as refused:
                return Failure(plan.status, refused.code, refused.reason, refused.message)
        for note in plan.events:
            self._note(note, component)
        return None

    def _may_die(self) -> None:
        if self._dies():
            raise KilledError

    def _written(self, write: Write, component: str) -> Failure | None:
        self._may_die()
        return self._write(write, component)

    def _write(self, write: Write, component: str) -> Failure | None:
        name = ""
        try:
            match write:
                case Create(body=body):
                    name = self.cluster.create(body)["metadata"]["name"]
                case Patch(ref=ref, patch=patch, subresource=subresource):
                    key = Key(ref.namespace, ref.name)
                    self.cluster.patch(ref.resource.kind, key, patch, subresource=subresource)
                case Delete(ref=ref, propagation=propagation):
                    key = Key(ref.namespace, ref.name)
                    if not self.cluster.delete(ref.resource.kind, key, propagation, uid=ref.uid):
                        return None
                case _:
                    raise AssertionError(write)
        except RefusedError as refused:
            return Failure(write, refused.code, refused.reason, refused.message)
        if write.succeeded:
            self._note(_filled(write.succeeded, "{name}", name), component)
        return None

    def _note(self, note: Note, component: str) -> None:
        ref = note.regarding
        self._events.append(
            {
                "involvedObject": {"kind": ref.resource.kind, "name": ref.name},
                "type": note.type,
                "reason": note.reason,
                "message": note.message,
                "reportingComponent": component,
            }
        )

    # --- observing, as the shells do from their caches

    def plan_job(self, slot: Slot) -> tuple[Plan, Callable[[Failure], Plan]] | None:
        stored = self.cluster.get("Job", slot.key)
        if stored is None:
            return None
        view = msgspec.convert(stored, Job)
        pods = tuple(msgspec.convert(obj, Pod) for obj in self.cluster.of_kind("Pod", slot.key.namespace))
        observed = job.Observed(job=view, pods=pods, past=self._memory.past(view, pods, self.cluster.now))
        now = self.cluster.now
        return job.plan(observed, now), lambda failure: job.plan_failure(observed, failure, now)

    def plan_ttl(self, slot: Slot) -> tuple[Plan, Callable[[Failure], Plan]] | None:
        stored = self.cluster.get("Job", slot.key)
        if stored is None:
            return None
        return ttl.plan(msgspec.convert(stored, Job), self.cluster.now), _nothing

    def plan_orphan(self, slot: Slot) -> tuple[Plan, Callable[[Failure], Plan]] | None:
        stored = self.cluster.get("Pod", slot.key)
        if stored is None:
            return None
        pod = msgspec.convert(stored, Pod)
        owner = pod.metadata.controller
        found = self.cluster.get("Job", Key(slot.key.namespace, owner.name)) if owner else None
        view = msgspec.convert(found, Job) if found and owner and found["metadata"]["uid"] == owner.uid else None
        return orphans.plan(orphans.Orphan(pod=pod, job=view)), _nothing

    def plan_jobset(self, slot: Slot) -> tuple[Plan, Callable[[Failure], Plan]] | None:
        stored = self.cluster.get("JobSet", slot.key)
        if stored is None:
            return None
        view = msgspec.convert(stored, JobSet)
        jobs = [msgspec.convert(obj, Job) for obj in self.cluster.of_kind("Job", slot.key.namespace)]
        observed = jobset.Observed(
            jobset=view,
            jobs=tuple(j for j in jobs if j.metadata.controller and j.metadata.controller.uid == view.metadata.uid),
            named={j.metadata.name: j for j in jobs},
            services=frozenset(obj["metadata"]["name"] for obj in self.cluster.of_kind("Service")),
            claims=frozenset(obj["metadata"]["name"] for obj in self.cluster.of_kind("PersistentVolumeClaim")),
        )
        return jobset.plan(observed, self.cluster.now), _nothing

    def plan_garbage(self, slot: Slot) -> tuple[Plan, Callable[[Failure], Plan]] | None:
        stored = self.cluster.get(slot.kind, slot.key)
        if stored is None:
            return None
        member = _member(stored)
        dependents = tuple(_member(other) for other in self.cluster if _is_owned(other, member.ref.uid))
        states = tuple(self._owner_state(slot.key.namespace, ref) for ref in member.metadata.owner_references)
        return garbage.plan(garbage.Observed(member=member, owners=states, dependents=dependents)), _nothing

    def _owner_state(self, namespace: str, reference: Any) -> OwnerState:
        owner = self.cluster.get(reference.kind, Key(namespace, reference.name))
        if owner is None or owner["metadata"]["uid"] != reference.uid:
            return OwnerState.ABSENT
        return OwnerState.DELETING if _member(owner).waits_for_dependents else OwnerState.PRESENT


_PLANNERS: dict[str, Callable[[Replay, Slot], tuple[Plan, Callable[[Failure], Plan]] | None]] = {
    "job-controller": Replay.plan_job,
    "ttl-after-finished-controller": Replay.plan_ttl,
    "job-orphans": Replay.plan_orphan,
    "jobset": Replay.plan_jobset,
    "garbage-collector": Replay.plan_garbage,
}


def _turns(obj: Json, cluster: MemoryCluster) -> Iterable[Turn]:
    kind, metadata = obj["kind"], obj["metadata"]
    slot = Slot(kind, Key(metadata.get("namespace", ""), metadata["name"]))
    if kind == "Job":
        yield Turn("job-controller", slot)
        yield Turn("ttl-after-finished-controller", slot)
    if kind == "JobSet":
        yield Turn("jobset", slot)
    yield Turn("garbage-collector", slot)
    for reference in metadata.get("ownerReferences", []):
        owner = Slot(reference["kind"], Key(slot.key.namespace, reference["name"]))
        yield Turn("garbage-collector", owner)
        if reference.get("controller") and owner.kind == "Job" and kind == "Pod":
            yield Turn("job-controller", owner)
        if reference.get("controller") and owner.kind == "JobSet" and kind in ("Job", "Service"):
            yield Turn("jobset", owner)
    for other in cluster:
        if _is_owned(other, metadata["uid"]):
            other_slot = Slot(other["kind"], Key(other["metadata"].get("namespace", ""), other["metadata"]["name"]))
            yield Turn("garbage-collector", other_slot)
            if kind == "Job" and other_slot.kind == "Pod":
                yield Turn("job-orphans", other_slot)
    if kind == "Pod":
        yield Turn("job-orphans", slot)
        if not any(reference.get("controller") for reference in metadata.get("ownerReferences", [])):
            for stored in cluster.of_kind("Job"):
                job_view = msgspec.convert(stored, Job)
                if job_view.spec.selector.matches(metadata.get("labels", {})):
                    yield Turn("job-controller", Slot("Job", Key(slot.key.namespace, job_view.metadata.name)))


def _member(obj: Json) -> Member:
    metadata = msgspec.convert(obj["metadata"], ObjectMeta)
    return Member(Ref(RESOURCES[obj["kind"]], metadata.namespace, metadata.name, metadata.uid), metadata)


def _is_owned(obj: Json, uid: str) -> bool:
    return any(reference["uid"] == uid for reference in obj["metadata"].get("ownerReferences", ()))


def _nothing(failure: Failure) -> Plan:
    return NOTHING


def _filled(note: Note, mark: str, text: str) -> Note:
    return msgspec.structs.replace(note, message=note.message.replace(mark, text))
