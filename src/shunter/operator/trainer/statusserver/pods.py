"""Whether a pod may report about a job: it still exists, and belongs to the job, not to an earlier one of the same name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from shunter.api.meta import MetadataOnly
from shunter.api.resources import PODS
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import NotFound
from shunter.kube.reviews import Pod, ReviewCache

THERE_SECONDS = 2.0
"""For so long a pod counts as there once it was seen."""
GONE_SECONDS = 10.0
_JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"


class ReportingPods:
    """Checks whether a reporting pod exists and belongs to the job; one instance per replica. `jobset_uid` returns the uid of a
    job's current JobSet, empty if it has none."""

    def __init__(self, client: Client, jobset_uid: Callable[[Key], str]) -> None:
        self._client = client
        self._jobset_uid = jobset_uid
        self._jobsets: ReviewCache[str | None] = ReviewCache()
        self._lookups_under_way: dict[Pod, asyncio.Task[str | None]] = {}

    async def may_report(self, pod: Pod, job: Key) -> bool:
        """Raises ApiError when the API server cannot be asked."""
        known = self._jobsets.get(pod)
        owner = known[0] if known is not None else await self._shared_lookup(pod)
        return bool(owner) and owner == self._jobset_uid(job)

    async def _shared_lookup(self, pod: Pod) -> str | None:
        lookup = self._lookups_under_way.get(pod)
        if lookup is None:
            lookup = self._lookups_under_way[pod] = asyncio.create_task(self._owner(pod))
            lookup.add_done_callback(lambda _: self._lookups_under_way.pop(pod))
        # A client that disconnects must not cancel the lookup for the others that wait for it.
        return await asyncio.shield(lookup)

    async def _owner(self, pod: Pod) -> str | None:
        """The uid of the pod's JobSet; None for a pod that is gone, also if there is another of its name."""
        try:
            metadata = (await self._client.get(PODS, pod.name, pod.namespace, view=MetadataOnly)).metadata
        except NotFound:
            owner = None
        else:
            owner = metadata.labels.get(_JOBSET_UID) if metadata.uid == pod.uid else None
        self._jobsets.put(pod, owner, THERE_SECONDS if owner else GONE_SECONDS)
        return owner
