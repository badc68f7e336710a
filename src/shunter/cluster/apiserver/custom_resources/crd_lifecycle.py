"""The life of a CustomResourceDefinition: accepted and established at once, terminating until its objects are deleted.

kube-apiserver's controllers do the same a moment later in writes of their own; here it happens in the first write itself, so a
kind is served as soon as its CRD is acknowledged. Source: k8s.io/apiextensions-apiserver `controller`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING

from shunter.api.crds.established import is_established
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.cluster.apiserver.storage.store import Collection, Entry, Event, StaleError

if TYPE_CHECKING:
    from shunter.cluster.apiserver.backend import Backend

log = logging.getLogger(__name__)

PLURAL = CUSTOM_RESOURCE_DEFINITIONS.plural
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_RETRY_SECONDS = 1.0

_cleanups: dict[str, asyncio.Task[None]] = {}


def follow(backend: Backend) -> None:
    """Keeps the registry equal to the stored CRDs from now on, and finishes the deletions that a stop interrupted."""
    crds = backend.store.collection(CUSTOM_RESOURCE_DEFINITIONS.group, PLURAL)

    def changed(events: list[Event]) -> None:
        for event in events:
            if event.type == "DELETED":
                backend.registry.unregister(event.entry.name)
            else:
                _serve(backend, event.entry)

    crds.listeners.add(changed)
    for entry in crds.entries():
        _serve(backend, entry)


def _serve(backend: Backend, entry: Entry) -> None:
    crd = entry.document()
    if not is_established(crd):
        return
    backend.registry.register(crd)
    if "deletionTimestamp" in crd["metadata"] and entry.name not in _cleanups:
        task = asyncio.get_running_loop().create_task(_clean_up(backend, crd))
        _cleanups[entry.name] = task
        task.add_done_callback(lambda task: _cleanups.pop(entry.name, None) and None)


def prepare(crd: Json, old: Json | None, now: datetime) -> None:
    """Sets, in place, the fields that the server owns: accepted names, conditions, stored versions, the finalizer."""
    metadata, spec = crd["metadata"], crd["spec"]
    if "deletionTimestamp" in metadata:
        return
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    status = dict((old or {}).get("status") or {})
    status["acceptedNames"] = spec.get("names")
    stored = list(status.get("storedVersions") or ())
    storage = next((version.get("name") for version in spec.get("versions") or () if version.get("storage")), None)
    if storage and storage not in stored:
        stored.append(storage)
    status["storedVersions"] = stored
    conditions = list(status.get("conditions") or ())
    _set_condition(conditions, "NamesAccepted", "NoConflicts", "no conflicts found", now)
    _set_condition(conditions, "Established", "InitialNamesAccepted", "the initial names have been accepted", now)
    status["conditions"] = conditions
    crd["status"] = status


def mark_terminating(crd: Json, now: datetime) -> None:
    """Sets the condition Terminating, in place."""
    status = crd["status"] = dict(crd.get("status") or {})
    conditions = status["conditions"] = list(status.get("conditions") or ())
    _set_condition(conditions, "Terminating", "InstanceDeletionInProgress", "CustomResource deletion is in progress", now)


def _set_condition(conditions: list[Json], type: str, reason: str, message: str, now: datetime) -> None:
    for condition in conditions:
        if condition["type"] == type and condition["status"] == "True":
            return
    conditions[:] = [condition for condition in conditions if condition["type"] != type]
    conditions.append(
        {
            "type": type,
            "status": "True",
            "lastTransitionTime": rfc3339(now),
            "reason": reason,
            "message": message,
        }
    )


async def _clean_up(backend: Backend, crd: Json) -> None:
    spec = crd["spec"]
    objects = backend.store.collection(spec["group"], spec["names"]["plural"])
    while True:
        try:
            await _empty(backend, objects)
            return await _finish(backend, crd["metadata"]["name"])
        except sqlite3.Error as error:  # a full disk: nobody else would finish this
            log.warning("the CRD %s is not deleted yet: %s", crd["metadata"]["name"], error)
        await asyncio.sleep(_RETRY_SECONDS)


async def _empty(backend: Backend, objects: Collection) -> None:
    """Deletes everything and returns when nothing is left; what is created meanwhile goes too."""
    changed, created = asyncio.Event(), asyncio.Event()

    def notice(events: list[Event]) -> None:
        changed.set()
        if any(event.type == "ADDED" for event in events):
            created.set()

    objects.listeners.add(notice)
    try:
        await _delete_all(backend, objects)
        while len(objects):
            changed.clear()
            if created.is_set():
                created.clear()
                await _delete_all(backend, objects)
            else:
                await changed.wait()
    finally:
        objects.listeners.discard(notice)


async def _delete_all(backend: Backend, objects: Collection) -> None:
    """Removes objects without finalizers, and sets the deletionTimestamp of the others."""
    for entry in list(objects.entries()):
        current = objects.head(entry.namespace, entry.name)
        while current is not None:
            document = current.document()
            metadata = document["metadata"]
            try:
                if not metadata.get("finalizers"):
                    await backend.store.remove(objects, document, previous=current, durable=True)
                elif not metadata.get("deletionTimestamp"):
                    metadata["deletionTimestamp"] = rfc3339(backend.now())
                    metadata["deletionGracePeriodSeconds"] = 0
                    await backend.store.write(objects, document, previous=current, durable=True)
                break
            except StaleError:
                current = objects.head(entry.namespace, entry.name)


async def _finish(backend: Backend, name: str) -> None:
    crds = backend.store.collection(CUSTOM_RESOURCE_DEFINITIONS.group, PLURAL)
    while (entry := crds.head("", name)) is not None:
        document = entry.document()
        finalizers = [f for f in document["metadata"].get("finalizers", ()) if f != FINALIZER]
        document["metadata"]["finalizers"] = finalizers
        try:
            if finalizers:
                await backend.store.write(crds, document, previous=entry, durable=True)
            else:
                await backend.store.remove(crds, document, previous=entry, durable=True)
            return
        except StaleError:
            continue
