"""The cluster as a rollback sees it: as it is, or, for a preview, as it would be after the undos so far."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from shunter.api.core import pod_has_ended
from shunter.api.meta import Json
from shunter.api.resources import PODS, TRAIN_JOBS, Resource
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.applying import LOOKS_AT_ONCE
from shunter.migrate.moving.backup.taking import listed
from shunter.migrate.moving.undo_steps import Undo
from shunter.operator.overview import pod_selector


class Spot(NamedTuple):
    """Where an object is."""

    resource: Resource
    namespace: str
    name: str


class RecordedObjects(NamedTuple):
    """States in which a preview supposes one object, by digest, and the uids that it would have."""

    digests: Collection[str] = ()
    uids: Collection[str] = ()


NOTHING_NOTED = RecordedObjects()


class ClusterView(Protocol):
    """ApiError from each of these where it may not be looked at."""

    async def get(self, spot: Spot) -> Json | None:
        """The object; None when there is none, or its kind is not served."""

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """All TrainJobs of a namespace."""

    async def runs(self, train_job: Json) -> bool:
        """Whether a pod of a TrainJob does something, or may yet."""

    def noted(self, spot: Spot) -> RecordedObjects:
        """What is known of the object that is in no journal."""


class LiveCluster:
    """The cluster as it is at each look."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, spot: Spot) -> Json | None:
        """Read from the server at each call; an object has its kind and apiVersion, which lists leave out."""
        found = await self._client.find(spot.resource, spot.name, spot.namespace)
        return None if found is None else spot.resource.typed(found)

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """Listed each time; none where the cluster serves no TrainJobs."""
        return await listed(self._client, TRAIN_JOBS, [namespace])

    async def runs(self, train_job: Json) -> bool:
        """Whether one of its pods has not ended, read from the server at each call."""
        pods = (await self._client.list(PODS, train_job["metadata"]["namespace"], label_selector=pod_selector(train_job))).items
        return any(not pod_has_ended(pod) for pod in pods)

    def noted(self, spot: Spot) -> RecordedObjects:
        """Nothing: whatever was done stands in the journal."""
        return NOTHING_NOTED


class SimulatedCluster:
    """The cluster as it was at one look, with everything taken back that was supposed since. Pods that were told to stop have."""

    def __init__(self, present: LiveCluster) -> None:
        self._present = present
        self._objects: dict[Spot, Json | ApiError | None] = {}
        self._lists: dict[str, Sequence[Json]] = {}
        self._noted: dict[Spot, RecordedObjects] = {}

    async def look(self, spots: Iterable[Spot]) -> None:
        """Reads objects, many at once; of what may not be read `get` says so."""
        todo = list(dict.fromkeys(spots))
        for start in range(0, len(todo), LOOKS_AT_ONCE):
            some = todo[start : start + LOOKS_AT_ONCE]
            self._objects.update(zip(some, await asyncio.gather(*map(self._looked, some)), strict=True))

    async def get(self, spot: Spot) -> Json | None:
        """As it is supposed to be, else as it was at the first look. ApiError is raised again as that look met it."""
        if spot not in self._objects:
            await self.look([spot])
        found = self._objects[spot]
        if isinstance(found, ApiError):
            raise found
        return found

    async def train_jobs(self, namespace: str) -> Sequence[Json]:
        """Those of the first look, as they are supposed to be; none that are supposed to be deleted. Those made again are not
        added."""
        if namespace not in self._lists:
            self._lists[namespace] = await self._present.train_jobs(namespace)
        found = []
        for job in self._lists[namespace]:
            seen = self._objects.get(Spot(TRAIN_JOBS, namespace, job["metadata"]["name"]), job)
            if seen is not None:
                found.append(job if isinstance(seen, ApiError) else seen)
        return found

    async def runs(self, train_job: Json) -> bool:
        """Never: by then pods have stopped."""
        return False

    def noted(self, spot: Spot) -> RecordedObjects:
        """What was supposed of the object so far."""
        return self._noted.get(spot, NOTHING_NOTED)

    def suppose(self, spot: Spot, undo: Undo) -> None:
        """Treats the write as undone from now on."""
        found = self._objects.get(spot)
        match undo.verdict:
            case "delete":
                self._objects[spot] = None
            case "create":
                metadata = {**undo.body["metadata"], "uid": undo.record.uid, "resourceVersion": ""}
                self._note(spot, {**undo.body, "metadata": metadata}, undo.record.uid)
            case "patch" if found is not None and not isinstance(found, ApiError):
                self._note(spot, merge_patch(found, undo.body), undo.uid)
            case "nothing" if found is not None and not isinstance(found, ApiError):
                self._note(spot, found, undo.uid)
            case _:
                pass

    def _note(self, spot: Spot, obj: Json, uid: str) -> None:
        self._objects[spot] = obj
        noted = self.noted(spot)
        self._noted[spot] = RecordedObjects({*noted.digests, digest(obj)}, {*noted.uids, uid} - {""})

    async def _looked(self, spot: Spot) -> Json | ApiError | None:
        try:
            return await self._present.get(spot)
        except ApiError as error:
            return error
