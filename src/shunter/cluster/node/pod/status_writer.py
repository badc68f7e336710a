"""Writes pod statuses to the API server: only differences, one request at a time per pod, the newest status wins.

A status is shared with others: conditions that are not ours (an eviction's, a readiness gate's) are never written, so they cannot
be overwritten. That takes a strategic merge patch, which is what kubelet sends, too.
"""

from __future__ import annotations

import asyncio
from logging import getLogger

from shunter.api.meta import Json, Struct
from shunter.api.resources import PODS
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.cluster.node.pod.status import OWNED_CONDITIONS
from shunter.kube.cache.store import revision
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, Conflict, NotFound
from shunter.kube.merge_patch import difference

log = getLogger(__name__)

CONCURRENCY = 32
_FIRST_RETRY_SECONDS = 0.1
_MAX_RETRY_SECONDS = 5.0
_ADDRESS_LISTS = ("hostIPs", "podIPs")


class _StoredMeta(Struct, frozen=True):
    uid: str = ""
    resource_version: str = ""


class _Stored(Struct, frozen=True):
    """All we need to know of an answer: which version of the pod our write became, and what it says now."""

    metadata: _StoredMeta = _StoredMeta()
    status: Json = {}


class StatusWriter:
    """Shared by all pods of a node."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._wanted: dict[str, Json] = {}
        self._written: dict[str, Json] = {}
        self._revisions: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def write(self, pod: AssignedPod, status: Json) -> None:
        """Has the status written soon. Never waits."""
        self._wanted[pod.uid] = status
        current = self._tasks.get(pod.uid)
        # A task that has just found nothing more to write is done, but not taken out yet: it will not look again.
        if current is None or current.done():
            task = asyncio.ensure_future(self._write_all(pod))
            self._tasks[pod.uid] = task
            task.add_done_callback(lambda done: self._task_ended(pod.uid, done))

    def was_overruled(self, pod: AssignedPod) -> bool:
        """Whether conditions of ours were changed since we wrote them, as the node controller does while a node is away.
        What the server has counts as written from then on, so that ours is written again."""
        written = self._written.get(pod.uid)
        if written is None or pod.uid in self._tasks or revision(pod.metadata.resource_version) <= self._revisions[pod.uid]:
            return False
        if _own_conditions(written) == _own_conditions(pod.status):
            return False
        self._written[pod.uid] = pod.status
        return True

    async def flush(self, uid: str) -> None:
        """Returns once everything asked for so far is on the server, or the pod is not."""
        while task := self._tasks.get(uid):
            await asyncio.wait([task])

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        if task := self._tasks.pop(uid, None):
            task.cancel()
        self._wanted.pop(uid, None)
        self._written.pop(uid, None)
        self._revisions.pop(uid, None)

    def _task_ended(self, uid: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uid) is task:
            del self._tasks[uid]

    async def stop(self) -> None:
        """Gives statuses under way a moment; a restarted node writes them anew."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=2.0)

    async def _write_all(self, pod: AssignedPod) -> None:
        retry = _FIRST_RETRY_SECONDS
        while (status := self._wanted.pop(pod.uid, None)) is not None:
            patch = status_patch(self._written.get(pod.uid, pod.status), status)
            if not patch:
                continue
            try:
                async with self._slots:
                    # The uid makes the server refuse the write when the name belongs to another pod by now.
                    body = {"metadata": {"uid": pod.uid}, "status": patch}
                    stored = await self._client.patch(
                        PODS,
                        pod.metadata.name,
                        pod.metadata.namespace,
                        body,
                        type="strategic",
                        subresource="status",
                        view=_Stored,
                    )
            except NotFound:
                return
            except ApiError as error:
                if isinstance(error, Conflict) and await self._is_replaced(pod):
                    return
                # A refusal may be of this moment, too: credentials are renewed, a server asks for patience.
                if not isinstance(error, PASSING):
                    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
                    log.warning("The status of pod %s was rejected, trying again: %s", where, error.message)
                self._wanted.setdefault(pod.uid, status)
                await asyncio.sleep(retry)
                retry = min(retry * 2, _MAX_RETRY_SECONDS)
                continue
            self._written[pod.uid] = status
            if stored.status and _own_conditions(stored.status) != _own_conditions(status):
                # Another client wrote a condition of ours meanwhile.
                self._written[pod.uid] = stored.status
                self._wanted.setdefault(pod.uid, status)
            self._revisions[pod.uid] = revision(stored.metadata.resource_version)

    async def _is_replaced(self, pod: AssignedPod) -> bool:
        """Whether the name belongs to another pod, or to none. A conflict may be of many writers at once, too."""
        try:
            found = await self._client.get(PODS, pod.metadata.name, pod.metadata.namespace, view=_Stored)
        except NotFound:
            return True
        except ApiError:
            return False
        return found.metadata.uid != pod.uid


def status_patch(before: Json, after: Json) -> Json:
    """The strategic merge patch that turns what we wrote `before` into `after`; empty when there is nothing to write."""
    patch = difference(before, after)
    if patch.pop("conditions", None):
        old = {one["type"]: one for one in before.get("conditions") or ()}
        changed = [one for one in after["conditions"] if one["type"] in OWNED_CONDITIONS and one != old.get(one["type"])]
        if changed:
            # Items are merged field by field: one that is no more has to be taken out.
            patch["conditions"] = [dict.fromkeys(old.get(one["type"], {})) | one for one in changed]
    for name in _ADDRESS_LISTS:
        if patch.get(name) and before.get(name):
            patch[name] = [*patch[name], {"$patch": "replace"}]
    return patch


def _own_conditions(status: Json) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status.get("conditions") or () if one["type"] in OWNED_CONDITIONS}
