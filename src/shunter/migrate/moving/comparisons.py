"""The result of a comparison, noted on the twin that it is about: cleanup asks for it."""

from __future__ import annotations

from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.migrate.moving.marks import COMPARED, PLAN, mark


async def note(client: Client, title: str, verdict: str) -> bool:
    """Notes the verdict on the job called `TrainJob training/bert`. False when that is no TrainJob that a plan made (a trial is
    none). ApiError when it may not be patched."""
    kind, _, place = title.partition(" ")
    namespace, _, name = place.partition("/")
    if kind != TRAIN_JOBS.kind:
        return False
    try:
        job = await client.get(TRAIN_JOBS, name, namespace)
    except NotFound:
        return False
    if not mark(job, PLAN):
        return False
    metadata = {"uid": job["metadata"]["uid"], "annotations": {COMPARED: verdict}}
    await client.patch(TRAIN_JOBS, name, namespace, {"metadata": metadata})
    return True
