"""A cluster in memory for replaying recordings against the pure plans: objects, deletion rules, a clock that is told the time.

It emulates what the API server does to the objects that controllers write, as far as recordings show it. It has no admission
rules: what a user may write is a matter of the API server's own tests.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from cluster.controllers.defaults import admitted
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    JOBSETS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from shunter.kube.controllers.plan import Key
from shunter.kube.merge_patch import merge_patch

_WORKLOADS = (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, CONTROLLER_REVISIONS)
RESOURCES = {resource.kind: resource for resource in (JOBS, JOBSETS, PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES, *_WORKLOADS)}
RESOURCES["PriorityClass"] = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


class RefusedError(Exception):
    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class Slot(NamedTuple):
    kind: str
    key: Key


class MemoryCluster:
    """Objects by kind and key. `changed` is called with (old, new) after every change, None for not there."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.changed: Callable[[Json | None, Json | None], None] = lambda old, new: None
        self._objects: dict[Slot, Json] = {}
        self._version = 0
        self._names = 0

    def __iter__(self) -> Iterator[Json]:
        return iter([*self._objects.values()])

    def get(self, kind: str, key: Key) -> Json | None:
        return self._objects.get(Slot(kind, key))

    def of_kind(self, kind: str, namespace: str = "") -> list[Json]:
        slots = [slot for slot in self._objects if slot.kind == kind and namespace in ("", slot.key.namespace)]
        return [self._objects[slot] for slot in slots]

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def create(self, body: Json) -> Json:
        """Stores a new object; what a controller creates is defaulted first."""
        obj: Json = {**body, "metadata": {**body["metadata"]}}
        metadata = obj["metadata"]
        if "name" not in metadata:
            self._names += 1
            metadata["name"] = f"{metadata['generateName'][:58]}{_letters(self._names)}"
        resource = RESOURCES[obj["kind"]]
        slot = Slot(obj["kind"], Key(metadata.get("namespace", ""), metadata["name"]))
        group = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        if slot in self._objects:
            raise RefusedError(409, "AlreadyExists", f'{group} "{slot.key.name}" already exists')
        metadata["uid"] = str(uuid.uuid4())
        obj = json.loads(json.dumps(obj).replace(f"<uid {slot.kind}/{slot.key.name}>", metadata["uid"]))
        metadata = obj["metadata"]
        self._require_priority_class(obj)
        admitted(obj)
        metadata["creationTimestamp"] = _stamp(self.now)
        if obj["kind"] not in ("Service", "PersistentVolumeClaim", "PriorityClass"):
            metadata["generation"] = 1
        self._store(slot, None, obj)
        return obj

    def patch(self, kind: str, key: Key, patch: Json, *, subresource: str = "") -> Json | None:
        """Merges; a uid or resourceVersion in the patch is a precondition. None when the object is not there."""
        slot = Slot(kind, key)
        old = self._objects.get(slot)
        if old is None:
            return None
        for field in ("uid", "resourceVersion"):
            if (wanted := patch.get("metadata", {}).get(field)) and wanted != old["metadata"][field]:
                raise RefusedError(409, "Conflict", f"{kind} {key} has changed")
        if subresource == "status":
            # As on the server, where a Deployment's revision is written with its status.
            annotations = {"annotations": found} if (found := patch.get("metadata", {}).get("annotations")) else {}
            patch = {"status": patch.get("status", {}), "metadata": annotations}
        return self.replace(slot, merge_patch(as_stored(old), as_stored(patch)))

    def replace(self, slot: Slot, new: Json) -> Json:
        """Stores a changed object; one that is being deleted goes when nothing holds it any more."""
        old = self._objects[slot]
        if new == old:
            return old
        if new.get("spec") != old.get("spec") and "generation" in new["metadata"]:
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers"):
            self._remove(slot)
        else:
            self._store(slot, old, new)
        return new

    def delete(self, kind: str, key: Key, propagation: str, *, uid: str = "") -> bool:
        """Removes the object, or marks it while finalizers hold it. Unscheduled pods go at once."""
        slot = Slot(kind, key)
        old = self._objects.get(slot)
        if old is None:
            return False
        if uid and old["metadata"]["uid"] != uid:
            raise RefusedError(409, "Conflict", f"the UID of {kind} {key} is {old['metadata']['uid']}")
        finalizers = [f for f in old["metadata"].get("finalizers", []) if f not in _FINALIZERS.values()]
        if propagation in _FINALIZERS:
            finalizers.append(_FINALIZERS[propagation])
        if not finalizers:
            self._remove(slot)
            return True
        new = as_stored(old)
        metadata = new["metadata"]
        metadata["finalizers"] = finalizers
        if "deletionTimestamp" not in metadata:
            metadata |= {"deletionTimestamp": _stamp(self.now), "deletionGracePeriodSeconds": 0}
            if "generation" in metadata:
                metadata["generation"] += 1
        self._store(slot, old, new)
        return True

    def _store(self, slot: Slot, old: Json | None, new: Json) -> None:
        self._version += 1
        new["metadata"]["resourceVersion"] = str(self._version)
        self._objects[slot] = new
        self.changed(old, new)

    def _remove(self, slot: Slot) -> None:
        old = self._objects.pop(slot)
        self.changed(old, None)

    def _require_priority_class(self, obj: Json) -> None:
        name = obj["spec"].get("priorityClassName") if obj["kind"] == "Pod" else None
        if not name:
            return
        priority_class = self.get("PriorityClass", Key("", name))
        if priority_class is None:
            prefix = obj["metadata"].get("generateName") or obj["metadata"]["name"]
            message = f'pods "{prefix}" is forbidden: no PriorityClass with name {name} was found'
            raise RefusedError(403, "Forbidden", message)
        obj["spec"] |= {"priority": priority_class["value"], "preemptionPolicy": priority_class["preemptionPolicy"]}


def as_stored(body: Json) -> Json:
    """As an API server keeps it: a copy, of what JSON can say."""
    copied: Json = msgspec.json.decode(msgspec.json.encode(body))
    return copied


def _stamp(moment: datetime) -> str:
    return rfc3339(moment.astimezone(UTC))


def _letters(number: int) -> str:
    """Five letters, as the API server adds to generateName; never those of the placeholder xxxxx."""
    letters: list[Any] = []
    for _ in range(5):
        number, digit = divmod(number, 20)
        letters.insert(0, "bcdfghjklmnpqrstvwyz"[digit])
    return "".join(letters)
