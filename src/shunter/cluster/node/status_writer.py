"""Writes pod statuses to the API server: only differences, one request at a time per pod, the newest status wins."""

from __future__ import annotations

import asyncio
from logging import getLogger

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.cluster.node.assigned_pod import AssignedPod
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Conflict, ConnectionProblem, NotFound, ServerProblem
from shunter.kube.merge_patch import difference

log = getLogger(__name__)

CONCURRENCY = 32
_FIRST_RETRY_SECONDS = 0.1
_MAX_RETRY_SECONDS = 5.0


class StatusWriter:
    """Shared by all pods of a node."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._wanted: dict[str, Json] = {}
        self._written: dict[str, Json] = {}
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
            patch = difference(self._written.get(pod.uid, pod.status), status)
            if not patch:
                continue
            try:
                async with self._slots:
                    # The uid makes the server refuse the write when the name belongs to another pod by now.
                    body = {"metadata": {"uid": pod.uid}, "status": patch}
                    await self._client.patch_status(PODS, pod.metadata.name, pod.metadata.namespace, body)
            except (NotFound, Conflict):
                return
            except (ConnectionProblem, ServerProblem):
                self._wanted.setdefault(pod.uid, status)
                await asyncio.sleep(retry)
                retry = min(retry * 2, _MAX_RETRY_SECONDS)
                continue
            except ApiError as error:
                log.error("The status of pod %s/%s was refused: %s", pod.metadata.namespace, pod.metadata.name, error.message)
                return
            self._written[pod.uid] = status
