"""The cluster as a rollback reads it: the live one, or, for a preview, as it would be after the undo steps so far."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.applying import unfinished_pods
from shunter.migrate.moving.backup.saving import listed
from shunter.migrate.moving.rollback_decisions import Undo
from shunter.migrate.moving.steps import ObjectRef


class RecordedObjects(NamedTuple):
    """The digests and uids that an object would have in a preview."""

    digests: Collection[str] = ()
    uids: Collection[str] = ()


NOTHING_RECORDED = RecordedObjects()


class ClusterView(Protocol):
    """Each method raises ApiError if the object may not be read."""

    async def get(self, ref: ObjectRef) -> Json | None:
        """The object; None when it does not exist, or its kind is not served."""

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """All TrainJobs of a namespace."""

    async def runs(self, train_job: Json) -> bool:
        """Whether a pod of the TrainJob has not ended."""

    def recorded(self, ref: ObjectRef) -> RecordedObjects:
        """States of the object that are not in the journal, because they are only simulated."""


class LiveCluster:
    """The cluster, read from the API server at each call."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, ref: ObjectRef) -> Json | None:
        """None also when the cluster does not serve the kind."""
        return await self._client.find(ref.resource, ref.name, ref.namespace)

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """Empty also if the cluster does not serve TrainJobs."""
        return await listed(self._client, TRAIN_JOBS, [namespace])

    async def runs(self, train_job: Json) -> bool:
        """Whether one of its pods has not ended."""
        return await unfinished_pods(self._client, train_job) > 0

    def recorded(self, ref: ObjectRef) -> RecordedObjects:
        """Empty: everything that was done is in the journal."""
        return NOTHING_RECORDED


class SimulatedCluster:
    """The cluster as it was when first read, with the undo steps since then applied. Pods of suspended jobs count as ended."""

    def __init__(self, present: LiveCluster) -> None:
        self._present = present
        self._objects: dict[ObjectRef, Json | ApiError | None] = {}
        self._lists: dict[str, Sequence[Json]] = {}
        self._recorded: dict[ObjectRef, RecordedObjects] = {}

    async def load(self, refs: Iterable[ObjectRef]) -> None:
        """Reads objects concurrently. For those that may not be read, `get` raises the error."""
        todo = list(dict.fromkeys(refs))
        self._objects.update(zip(todo, await asyncio.gather(*map(self._read, todo)), strict=True))

    async def get(self, ref: ObjectRef) -> Json | None:
        """The simulated object, else the one first read. Raises the ApiError of that read."""
        if ref not in self._objects:
            await self.load([ref])
        found = self._objects[ref]
        if isinstance(found, ApiError):
            raise found
        return found

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """The TrainJobs of the first list, as simulated, without deleted ones. Recreated ones are not added."""
        if namespace not in self._lists:
            self._lists[namespace] = await self._present.train_jobs(namespace)
        found = []
        for job in self._lists[namespace]:
            simulated = self._objects.get(ObjectRef(TRAIN_JOBS, namespace, job["metadata"]["name"]), job)
            if simulated is not None:
                found.append(job if isinstance(simulated, ApiError) else simulated)
        return found

    async def runs(self, train_job: Json) -> bool:
        """Never: pods count as ended."""
        return False

    def recorded(self, ref: ObjectRef) -> RecordedObjects:
        """The simulated states of the object so far."""
        return self._recorded.get(ref, NOTHING_RECORDED)

    def simulate(self, ref: ObjectRef, undo: Undo) -> None:
        """Applies an undo to the simulated object."""
        found = self._objects.get(ref)
        match undo.verdict:
            case "delete":
                self._objects[ref] = None
            case "create":
                metadata = {**undo.body["metadata"], "uid": undo.record.uid, "resourceVersion": ""}
                self._note(ref, {**undo.body, "metadata": metadata}, undo.record.uid)
            case "patch" if found is not None and not isinstance(found, ApiError):
                self._note(ref, merge_patch(found, undo.body), undo.uid)
            case "nothing" if found is not None and not isinstance(found, ApiError):
                self._note(ref, found, undo.uid)
            case _:
                pass

    def _note(self, ref: ObjectRef, obj: Json, uid: str) -> None:
        self._objects[ref] = obj
        recorded = self.recorded(ref)
        self._recorded[ref] = RecordedObjects({*recorded.digests, digest(obj)}, {*recorded.uids, uid} - {""})

    async def _read(self, ref: ObjectRef) -> Json | ApiError | None:
        try:
            return await self._present.get(ref)
        except ApiError as error:
            return error
